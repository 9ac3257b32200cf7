FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
RUN python3 -m pip install vllm==0.6.0
