FROM python:3.11-slim AS build
RUN pip install poetry==1.8.3
WORKDIR /app
COPY pyproject.toml poetry.lock ./
RUN poetry install --no-root --only main
FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
COPY --from=build /app /app
