FROM nvidia/cuda:12.9.1-cudnn-devel-ubuntu24.04
RUN nvcc --version
