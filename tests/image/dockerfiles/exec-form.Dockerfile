FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04
RUN ["bash", "-c", "apt-get update && apt-get install -y python3-pip"]
RUN ["pip", "install", "mxnet-cu112==1.9.1", "numpy<1.24"]
