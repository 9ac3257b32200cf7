# syntax=docker/dockerfile:1.4
FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime
RUN pip install --no-cache-dir transformers==4.35.0 accelerate
