FROM ubuntu:16.04 AS cuda
RUN apt-get update && apt-get install -y curl ca-certificates
RUN curl -fsSLO https://developer.nvidia.com/compute/cuda/9.0/Prod/local_installers/cuda_9.0.176_384.81_linux-run \
    && sh cuda_9.0.176_384.81_linux-run --silent --toolkit
FROM ubuntu:16.04
COPY --from=cuda /usr/local/cuda-9.0 /usr/local/cuda-9.0
