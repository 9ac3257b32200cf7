FROM ubuntu:20.04
RUN apt-get update && apt-get install -y python3.8 python3-distutils wget \
    && ln -s /usr/bin/python3.8 /usr/bin/python
RUN wget https://bootstrap.pypa.io/get-pip.py \
    && python get-pip.py
