FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn8-runtime
RUN pip install timm
