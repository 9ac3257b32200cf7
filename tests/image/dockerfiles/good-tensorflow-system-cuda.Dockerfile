FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip
RUN python3 -m pip install --no-cache-dir tensorflow==2.13.0 "numpy<1.25"
