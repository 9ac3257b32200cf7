FROM nvidia/cuda:11.4.3-base-ubuntu20.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install torch==1.10.2 --index-url https://download.pytorch.org/whl/cu113
