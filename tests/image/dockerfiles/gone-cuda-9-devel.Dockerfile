FROM nvidia/cuda:9.0-devel-ubuntu16.04
RUN nvcc --version
