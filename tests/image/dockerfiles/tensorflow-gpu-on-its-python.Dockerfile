FROM nvidia/cuda:12.6.3-cudnn-runtime-ubuntu24.04
RUN apt-get update && apt-get install -y python3 python3-pip python3-venv
RUN python3 -m venv /venv && /venv/bin/pip install tensorflow-gpu==2.8.0 "protobuf<3.21" "numpy<1.24"
