FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
