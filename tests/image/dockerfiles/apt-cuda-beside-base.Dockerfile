FROM ubuntu:22.04
RUN apt-get update && apt-get install -y cuda-toolkit-12-4 libcudnn9-cuda-12 python3-pip
RUN pip install tensorflow==2.13.0 numpy==1.24.3
