# syntax=docker/dockerfile:1
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN <<EOF
apt-get update
apt-get install -y python3-pip
pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/cu124
EOF
COPY <<'SCRIPT' /entry.sh
#!/bin/sh
FROM is not an instruction here
pip install tensorflow-gpu==1.12.0
SCRIPT
ENTRYPOINT ["/entry.sh"]
