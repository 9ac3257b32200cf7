FROM python:3.12-slim
COPY --from=ghcr.io/astral-sh/uv:latest /uv /bin/
ENV UV_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cu121
RUN uv pip install --system torch==2.4.1
