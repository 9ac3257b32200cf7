FROM python:3.12 AS builder
WORKDIR /build
COPY . .
RUN python -m venv /opt/venv && /opt/venv/bin/pip install -e .
FROM python:3.12-slim
COPY --from=builder /opt/venv /opt/venv
ENTRYPOINT ["/opt/venv/bin/serve"]
