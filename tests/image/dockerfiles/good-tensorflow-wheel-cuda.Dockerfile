# syntax=docker/dockerfile:1
FROM nvidia/cuda:12.5.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y python3 python3-pip
RUN pip3 install "tensorflow[and-cuda]==2.20.0"
