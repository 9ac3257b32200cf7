FROM nvidia/cuda:12.6.3-devel-ubuntu22.04
FROM python:3.12
RUN pip install requests
