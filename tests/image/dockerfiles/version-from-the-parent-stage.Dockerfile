FROM python:3.12 AS versions
ENV TORCH_VERSION=2.0.1 \
    TORCH_INDEX=https://download.pytorch.org/whl/cu118

FROM versions AS app
WORKDIR /app
RUN pip install --no-cache-dir "torch==${TORCH_VERSION}" --index-url "${TORCH_INDEX}"
RUN pip install --no-cache-dir "numpy<2"
CMD ["python", "main.py"]
