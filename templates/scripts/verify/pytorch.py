try:
    import torch
except Exception as error:
    tell("fail", "pytorch", "import torch: %s" % error)
    sys.exit(0)
judge_version("pytorch", torch.__version__)
judge_build("pytorch", torch.version.cuda is not None, "built for CUDA %s" % torch.version.cuda)


def kernel():
    ones = torch.ones(64, 64, device="cuda")
    assert float((ones @ ones).sum()) == 64.0**3
    return torch.cuda.get_device_name(0)


def convolution():
    image = torch.ones(1, 3, 32, 32, device="cuda")
    result = torch.nn.Conv2d(3, 8, 3).cuda()(image)
    torch.cuda.synchronize()
    return "cuDNN %s, result %s" % (torch.backends.cudnn.version(), tuple(result.shape))


if torch.version.cuda is None or not torch.cuda.is_available():
    tell("skip", "pytorch kernel", "no usable GPU")
else:
    attempt("pytorch kernel", kernel)
    attempt("pytorch convolution", convolution)
