FROM nvidia/cuda:13.0.0-runtime-ubuntu24.04
