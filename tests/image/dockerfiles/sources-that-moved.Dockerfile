FROM python:3.12-slim-bookworm
RUN sed -i s/deb.debian.org/mirror.example/g /etc/apt/sources.list
RUN apt-get update && apt-get install -y libgl1
