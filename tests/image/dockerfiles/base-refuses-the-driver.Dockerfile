FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install torch==2.1.0 "numpy<2"
