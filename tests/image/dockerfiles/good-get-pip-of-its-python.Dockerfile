FROM ubuntu:22.04
RUN apt-get update && apt-get install -y curl software-properties-common \
    && add-apt-repository -y ppa:deadsnakes/ppa \
    && apt-get update && apt-get install -y python3.9 python3.9-distutils
RUN curl -fsSL https://bootstrap.pypa.io/pip/3.9/get-pip.py | python3.9
RUN curl -fsSL https://bootstrap.pypa.io/get-pip.py | python3
