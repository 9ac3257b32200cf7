FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip && pip install --upgrade pip
RUN pip install torch==2.6.0
COPY requirements.txt .
RUN pip install -r requirements.txt
