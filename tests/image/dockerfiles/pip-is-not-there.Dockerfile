FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y python3 git
RUN pip3 install torch==2.6.0
