FROM rocm/pytorch:rocm6.1_ubuntu22.04_py3.10_pytorch_2.1.2
RUN pip install torch==2.3.0
