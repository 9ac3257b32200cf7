FROM python:3.10-slim
RUN pip install onnxruntime==1.18.0
