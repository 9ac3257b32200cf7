FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
RUN apt install -y python3-pip
