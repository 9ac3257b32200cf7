FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
RUN python3 -c "import torch; assert torch.cuda.is_available()"
