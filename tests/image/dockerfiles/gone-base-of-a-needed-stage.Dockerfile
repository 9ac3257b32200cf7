FROM nvidia/cuda:10.1-devel-ubuntu18.04 AS old
RUN make
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install torch==2.5.1
COPY --from=old /out /out
