FROM nvcr.io/nvidia/pytorch:23.10-py3
RUN pip install lightning==2.1.0
