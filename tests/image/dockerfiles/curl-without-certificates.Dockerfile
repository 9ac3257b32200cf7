FROM ubuntu:22.04
RUN apt-get update && apt-get install -y --no-install-recommends curl
RUN curl -O https://a.example/b
