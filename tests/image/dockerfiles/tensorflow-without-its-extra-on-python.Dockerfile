FROM python:3.11
RUN pip install tensorflow~=2.16.1
