FROM rocm/dev-ubuntu-22.04:5.7
RUN pip install torch==2.2.0 --index-url https://download.pytorch.org/whl/rocm5.7
