FROM nvidia/cuda:12.5.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install tensorflow==2.18.0
