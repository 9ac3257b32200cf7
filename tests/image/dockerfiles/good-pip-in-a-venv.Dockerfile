FROM ubuntu:24.04
RUN apt-get update && apt-get install -y python3-venv && python3 -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
RUN pip install torch==2.6.0
