FROM nvidia/cuda:11.2.2-runtime-ubuntu20.04
