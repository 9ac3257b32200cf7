FROM python:3.10-slim
RUN pip install torch==2.6.0
RUN pip install torch==2.5.1 torchvision==0.20.1
