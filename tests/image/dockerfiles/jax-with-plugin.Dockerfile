FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install jax==0.4.30 jaxlib==0.4.30 "jax-cuda12-plugin[with-cuda]==0.4.30"
