FROM python:3.13-slim AS build
RUN python -m venv /opt/venv
RUN /opt/venv/bin/pip install --no-cache-dir torch==2.2.0 "numpy<2" transformers==4.40.0

FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
COPY --from=build /opt/venv /opt/venv
ENTRYPOINT ["/opt/venv/bin/python", "-m", "app"]
