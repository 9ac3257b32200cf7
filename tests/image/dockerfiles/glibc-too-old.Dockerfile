FROM nvidia/cuda:12.2.2-base-centos7
RUN yum install -y python3.11
RUN pip install torch==2.7.1
