FROM ubuntu:22.04
RUN apt-get update && apt-get install -y python3-pip
RUN ln -s /usr/bin/pip3 /usr/bin/pip
