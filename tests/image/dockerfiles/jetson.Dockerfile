FROM nvcr.io/nvidia/l4t-base:r32.7.1
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install torch==1.10.0
