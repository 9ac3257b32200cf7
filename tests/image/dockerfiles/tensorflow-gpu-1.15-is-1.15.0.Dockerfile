FROM ubuntu:16.04
RUN apt-get update && apt-get install -y python3-pip python3-numpy cuda-libraries-10-0 libcudnn7=7.4.2.24-1+cuda10.0
RUN python3 -m pip install --upgrade 'pip<21'
RUN pip3 install tensorflow-gpu==1.15
