FROM python:3.10-slim
RUN pip install torch==2.0.1+cu118 "numpy<2"
