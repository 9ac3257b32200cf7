FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends python3 docker.io
RUN docker pull alpine
