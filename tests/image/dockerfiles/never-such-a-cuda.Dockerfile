FROM nvidia/cuda:12.7.0-runtime-ubuntu22.04
