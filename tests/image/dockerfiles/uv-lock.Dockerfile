# syntax=docker/dockerfile:1
FROM ghcr.io/astral-sh/uv:python3.12-bookworm-slim AS build
WORKDIR /app
RUN --mount=type=cache,target=/root/.cache/uv \
    --mount=type=bind,source=uv.lock,target=uv.lock \
    --mount=type=bind,source=pyproject.toml,target=pyproject.toml \
    uv sync --frozen --no-install-project --extra gpu

FROM python:3.12-slim-bookworm
COPY --from=build /app/.venv /app/.venv
COPY . /app
CMD ["/app/.venv/bin/python", "-m", "app"]
