ARG BASE
FROM ${BASE}
RUN pip install torch==2.5.1 "numpy<2.3"
