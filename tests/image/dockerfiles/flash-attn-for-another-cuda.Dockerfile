FROM nvidia/cuda:12.6.3-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip git
RUN pip3 install torch==2.13.0 packaging ninja
RUN pip3 install --no-build-isolation flash-attn==2.7.4.post1
