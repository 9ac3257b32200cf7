FROM nvidia/cuda:10.0-cudnn7-runtime-ubuntu18.04
CMD ["bash"]
