FROM tensorflow/tensorflow:2.15.0-gpu
WORKDIR /app
COPY requirements.txt .
RUN pip install -r requirements.txt
CMD ["python", "train.py"]
