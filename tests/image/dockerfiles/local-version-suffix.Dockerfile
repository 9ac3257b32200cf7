FROM ubuntu:20.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install torch==1.8.0+cu111 -f https://download.pytorch.org/whl/torch_stable.html
