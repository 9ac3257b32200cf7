FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install torch==2.1.0+cu118 "numpy<2" --index-url https://download.pytorch.org/whl/cu121
