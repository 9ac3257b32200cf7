FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
CMD ["nvidia-smi"]
