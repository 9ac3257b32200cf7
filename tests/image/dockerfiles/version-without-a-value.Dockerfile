FROM python:3.11-slim
ARG TORCH_VERSION
ARG CUDA_SUFFIX=cu121
# the version comes with --build-arg
RUN pip install "torch==${TORCH_VERSION}" --index-url https://download.pytorch.org/whl/${CUDA_SUFFIX}
