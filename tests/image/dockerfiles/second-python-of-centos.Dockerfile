FROM nvidia/cuda:12.2.2-base-centos7
RUN yum install -y python3 && pip3 install torch==1.10.2
