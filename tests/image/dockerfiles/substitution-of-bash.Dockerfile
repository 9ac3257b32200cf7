FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04
ARG CUDA=12.6
RUN apt-get update && apt-get install -y cuda-nvrtc-${CUDA/./-}
