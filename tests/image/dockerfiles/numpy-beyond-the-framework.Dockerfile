FROM python:3.10-slim
RUN pip install torch==2.1.0 numpy==2.0.0
