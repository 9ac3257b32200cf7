try:
    import mxnet as mx
except Exception as error:
    tell("fail", "mxnet", "import mxnet: %s" % error)
    sys.exit(0)
judge_version("mxnet", mx.__version__)
if hasattr(mx, "runtime"):
    with_cuda = mx.runtime.Features().is_enabled("CUDA")
    judge_build("mxnet", with_cuda, "built with CUDA: %s" % with_cuda)


def kernel():
    ones = mx.nd.ones((64, 64), ctx=mx.gpu(0))
    assert float(mx.nd.dot(ones, ones).sum().asscalar()) == 64.0**3
    return "a product of matrices"


def convolution():
    image = mx.nd.ones((1, 3, 32, 32), ctx=mx.gpu(0))
    weight = mx.nd.ones((8, 3, 3, 3), ctx=mx.gpu(0))
    result = mx.nd.Convolution(image, weight, no_bias=True, kernel=(3, 3), num_filter=8)
    result.wait_to_read()
    return "result %s" % (result.shape,)


def gpu_count():
    try:
        return mx.context.num_gpus()
    except Exception:
        return 0


if not gpu_count():
    tell("skip", "mxnet kernel", "no usable GPU")
else:
    attempt("mxnet kernel", kernel)
    attempt("mxnet convolution", convolution)
