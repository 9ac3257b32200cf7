FROM nvidia/cuda:11.8.0-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install cupy-cuda11x==13.0.0
