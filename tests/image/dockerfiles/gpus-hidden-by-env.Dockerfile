FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
ENV CUDA_VISIBLE_DEVICES=""
