FROM ubuntu:22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install torch==99.0.0
