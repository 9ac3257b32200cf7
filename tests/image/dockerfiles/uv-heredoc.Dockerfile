# syntax=docker/dockerfile:1
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
COPY --from=ghcr.io/astral-sh/uv:0.5.4 /uv /bin/uv
ARG TORCH=2.5.1
RUN <<EOF
set -eux
uv venv --python 3.12 /opt/venv   # not the system's
uv pip install --python /opt/venv/bin/python "torch==${TORCH}" --torch-backend cu124
EOF
