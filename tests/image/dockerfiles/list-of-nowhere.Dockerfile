FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install -r requirements.txt
COPY . /app
