FROM nvidia/cuda:11.8.0-runtime-ubuntu18.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install chainer==7.8.1
