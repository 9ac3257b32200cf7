FROM ubuntu:22.04
RUN apt-get update && apt-get install -y curl ca-certificates
RUN curl -LsSf https://astral.sh/uv/install.sh | sh
ENV PATH="/root/.cargo/bin:$PATH"
RUN uv venv --python 3.11 /opt/venv
