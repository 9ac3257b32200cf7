FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04
RUN nvcc -V
