FROM nvidia/cuda:12.9.1-base-ubuntu24.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install --break-system-packages torch==2.0.1 "numpy<2"
