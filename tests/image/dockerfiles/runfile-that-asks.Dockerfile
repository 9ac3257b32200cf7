FROM ubuntu:22.04
RUN apt-get update && apt-get install -y gcc wget
RUN wget https://developer.download.nvidia.com/compute/cuda/12.4.1/local_installers/cuda_12.4.1_550.54.15_linux.run
RUN sh cuda_12.4.1_550.54.15_linux.run
