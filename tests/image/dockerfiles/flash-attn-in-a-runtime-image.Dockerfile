FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip && pip install torch==2.6.0
RUN pip install flash-attn==2.7.4.post1 --no-build-isolation
