FROM ubuntu:26.04
RUN pip install torch==1.12.1
