FROM ubuntu:22.04
RUN apt-get update && apt-get install -y curl \
    && curl -LO https://github.com/conda-forge/miniforge/releases/latest/download/Mambaforge-Linux-x86_64.sh
