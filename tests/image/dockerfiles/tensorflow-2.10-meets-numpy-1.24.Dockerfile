FROM nvidia/cuda:11.2.2-cudnn8-runtime-ubuntu20.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install tensorflow==2.10.0
