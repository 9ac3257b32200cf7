FROM python:3.10-slim
RUN pip install torch==2.6.0 torchvision==0.15.2
