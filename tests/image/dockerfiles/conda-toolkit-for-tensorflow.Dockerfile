FROM continuumio/miniconda3:23.5.2-0
RUN conda install -y -c conda-forge python=3.9 cudatoolkit=11.2.2 cudnn=8.1.0
RUN pip install tensorflow==2.10.1 "numpy<1.24"
