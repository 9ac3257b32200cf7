FROM --platform=linux/arm64 python:3.11
RUN pip install torch==2.5.1
