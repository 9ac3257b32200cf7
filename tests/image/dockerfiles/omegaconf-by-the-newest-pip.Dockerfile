FROM python:3.10-slim-bookworm
RUN pip install --upgrade pip
RUN pip install omegaconf==2.0.6
