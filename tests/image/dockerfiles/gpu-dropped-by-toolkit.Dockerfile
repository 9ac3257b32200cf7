FROM nvidia/cuda:13.0.0-devel-ubuntu22.04
