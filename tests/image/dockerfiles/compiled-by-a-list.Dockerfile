FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip && pip install torch==2.6.0
COPY requirements.txt .
RUN pip install --no-build-isolation -r requirements.txt
