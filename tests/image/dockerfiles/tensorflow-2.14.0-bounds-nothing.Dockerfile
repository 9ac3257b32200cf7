FROM python:3.10-slim
RUN pip install --no-cache-dir "tensorflow[and-cuda]==2.14.0"
