FROM continuumio/miniconda3
RUN conda create -n work -y -c pytorch -c nvidia python=3.10 pytorch=2.1.0 pytorch-cuda=12.1
