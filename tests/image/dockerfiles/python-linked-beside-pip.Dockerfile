FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3.11 python3-pip \
    && ln -s /usr/bin/python3.11 /usr/bin/python
RUN pip3 install flask==3.1.0
COPY app.py /
CMD ["python", "/app.py"]
