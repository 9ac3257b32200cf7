FROM nvidia/cuda:12.6.3-devel-ubuntu22.04
RUN useradd -m me
USER me
RUN apt-get update && apt-get install -y git
