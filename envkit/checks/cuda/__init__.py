"""Checks of the CUDA toolkits, cuDNN and the libraries around them."""
