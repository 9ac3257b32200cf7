FROM nvidia/cuda:12.6.3-devel-ubuntu22.04
ARG COMMIT
RUN apt-get update && apt-get install -y git
RUN test -n "$COMMIT" && git clone https://github.com/ggml-org/llama.cpp && cd llama.cpp && git checkout "$COMMIT"
