FROM nvcr.io/nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install onnxruntime-gpu==1.20.0
