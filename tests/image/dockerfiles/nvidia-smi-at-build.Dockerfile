FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN nvidia-smi
