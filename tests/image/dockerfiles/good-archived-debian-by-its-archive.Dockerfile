FROM debian:buster-slim
RUN sed -i s/deb.debian.org/archive.debian.org/ /etc/apt/sources.list && apt-get update
