FROM condaforge/miniforge3
RUN conda create -n work python=3.11 -y
