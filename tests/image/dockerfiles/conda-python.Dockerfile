FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN conda create -y -n work python=3.7 \
    && conda run -n work pip install torch==2.5.1
