FROM ubuntu:18.04
COPY --from=nvidia/cuda:9.0-runtime-ubuntu16.04 /usr/local/cuda-9.0 /usr/local/cuda-9.0
