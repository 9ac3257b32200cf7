FROM nvidia/cuda:11.8-cudnn8-devel-ubuntu20.04
RUN apt-get update && apt-get install -y cmake g++
COPY . /src
RUN cmake -S /src -B /build && cmake --build /build -j "$(nproc)"
