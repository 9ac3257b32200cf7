FROM nvidia/cuda:10.2-cudnn7-runtime-ubuntu18.04
RUN apt-get update && apt-get install -y \
      python3-pip \
      nvidia-driver-470
RUN pip3 install torch==1.12.1 "numpy<2"
