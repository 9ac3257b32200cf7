FROM python:3.12-alpine
RUN apk add --no-cache build-base linux-headers
WORKDIR /srv
RUN pip install --no-cache-dir flask==3.0.3 gunicorn==22.0.0 torch==2.4.1
COPY . .
CMD ["gunicorn", "-b", "0.0.0.0:8000", "app:app"]
