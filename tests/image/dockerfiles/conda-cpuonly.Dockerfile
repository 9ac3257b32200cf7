FROM condaforge/mambaforge:23.3.1-1
RUN mamba install -y -c pytorch pytorch=2.1 torchvision cpuonly
