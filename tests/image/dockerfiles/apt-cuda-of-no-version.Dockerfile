FROM ubuntu:22.04
RUN apt-get update && apt-get install -y nvidia-cuda-toolkit python3-pip
RUN pip install tensorflow==2.13.0
