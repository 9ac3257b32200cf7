FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3.12 python3.12-venv
RUN python3.12 -m venv /opt/venv && /opt/venv/bin/pip install torch==2.7.1
