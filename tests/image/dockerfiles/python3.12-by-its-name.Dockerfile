FROM ubuntu:24.04
RUN apt-get update && apt-get install -y python3.12 python3-pip
RUN python3.12 -m pip install torch==2.6.0
