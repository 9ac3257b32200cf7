FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install torch==2.5.1 flash-attn==2.7.4.post1
