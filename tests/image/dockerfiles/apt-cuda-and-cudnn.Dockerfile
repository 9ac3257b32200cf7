FROM ubuntu:22.04
RUN apt-get update && apt-get install -y wget python3-pip \
    && wget -q https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64/cuda-keyring_1.1-1_all.deb \
    && dpkg -i cuda-keyring_1.1-1_all.deb \
    && apt-get update \
    # only what runs
    && apt-get install -y --no-install-recommends cuda-libraries-11-8 libcudnn8=8.6.0.163-1+cuda11.8 \
    && rm -rf /var/lib/apt/lists/*
RUN pip install tensorflow==2.13.0
