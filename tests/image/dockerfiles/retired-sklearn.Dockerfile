FROM python:3.11-slim-bookworm
RUN pip install pandas sklearn
