FROM ubuntu:24.04
COPY --from=ghcr.io/astral-sh/uv:0.9 /uv /bin/uv
RUN apt-get update && apt-get install -y python3
RUN uv pip install --system torch==2.6.0
