FROM continuumio/miniconda3:4.12.0
RUN conda install -y pytorch==1.11.0 torchvision==0.12.0 cudatoolkit=11.3 -c pytorch && conda clean -ya
