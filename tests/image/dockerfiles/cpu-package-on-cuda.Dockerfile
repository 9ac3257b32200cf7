FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip
COPY model.onnx /models/
RUN pip3 install --no-cache-dir onnxruntime==1.18.0 opencv-python-headless==4.10.0.84
CMD ["python3", "/serve.py"]
