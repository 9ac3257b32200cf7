FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN apt-get update && apt-get install -y python3 && python3 -c "print(1<<20)"
RUN echo "limit $((1<<30))" && grep -c cuda <<<"$PATH"
RUN bash -c 'cat > /etc/profile.d/cuda.sh <<EOF \n\
export CUDA_HOME=/usr/local/cuda \n\
EOF'
RUN <<EOF
cat > /usr/local/bin/start <<'END'
#!/bin/sh
exec nvcc --version
END
chmod +x /usr/local/bin/start
EOF
CMD ["start"]
