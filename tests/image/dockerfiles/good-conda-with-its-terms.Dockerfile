FROM continuumio/miniconda3
ENV CONDA_PLUGINS_AUTO_ACCEPT_TOS=yes
RUN conda create -n work python=3.11 -y
