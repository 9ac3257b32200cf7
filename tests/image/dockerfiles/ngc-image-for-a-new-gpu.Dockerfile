FROM nvcr.io/nvidia/pytorch:23.10-py3
RUN pip install --no-cache-dir accelerate==0.24.1
WORKDIR /workspace
