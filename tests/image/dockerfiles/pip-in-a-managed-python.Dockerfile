FROM ubuntu:24.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install torch==2.6.0
