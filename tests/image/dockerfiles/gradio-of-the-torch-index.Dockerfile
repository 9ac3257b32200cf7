FROM python:3.11-slim-bookworm
RUN pip install torch==2.6.0 gradio --index-url https://download.pytorch.org/whl/cu124
