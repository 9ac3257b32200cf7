# syntax=docker/dockerfile:1
ARG PYTHON=3.11
FROM python:${PYTHON}-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install torch==2.3.1 --index-url https://download.pytorch.org/whl/cu121 && \
    pip install "numpy<2" fastapi==0.111.0 uvicorn==0.30.1

FROM python:${PYTHON}-slim-bookworm
RUN useradd --create-home --uid 1000 app
COPY --from=build /opt/venv /opt/venv
COPY --chown=app:app . /srv
ENV PATH=/opt/venv/bin:$PATH NVIDIA_VISIBLE_DEVICES=all
WORKDIR /srv
USER app
HEALTHCHECK CMD python -c "import urllib.request as r; r.urlopen('http://localhost:8000/health')"
EXPOSE 8000
CMD ["uvicorn", "main:app", "--host", "0.0.0.0"]
