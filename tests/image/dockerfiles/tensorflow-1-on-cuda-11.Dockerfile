FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3.7 python3-pip
RUN python3.7 -m pip install tensorflow-gpu==1.15.0
