FROM registry.example.com/team/base:2024-05
RUN pip install tensorflow==2.13.0
