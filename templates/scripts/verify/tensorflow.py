import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
try:
    import tensorflow as tf
except Exception as error:
    tell("fail", "tensorflow", "import tensorflow: %s" % error)
    sys.exit(0)
judge_version("tensorflow", tf.__version__)
judge_build("tensorflow", tf.test.is_built_with_cuda(), "built with CUDA: %s" % tf.test.is_built_with_cuda())


def value(function):
    if hasattr(tf, "function"):
        return function().numpy()
    with tf.Session() as session:
        return session.run(function())


def kernel():
    def product():
        with tf.device("/GPU:0"):
            return tf.reduce_sum(tf.matmul(tf.ones([64, 64]), tf.ones([64, 64])))

    assert value(product) == 64.0**3
    return "a product of matrices"


def convolution():
    def result():
        with tf.device("/GPU:0"):
            return tf.nn.conv2d(tf.ones([1, 32, 32, 3]), tf.ones([3, 3, 3, 8]), strides=[1, 1, 1, 1], padding="VALID")

    return "result %s" % (value(result).shape,)


def gpus():
    if hasattr(tf, "config") and hasattr(tf.config, "list_physical_devices"):
        return tf.config.list_physical_devices("GPU")
    from tensorflow.python.client import device_lib

    return [device for device in device_lib.list_local_devices() if device.device_type == "GPU"]


if not tf.test.is_built_with_cuda() or not gpus():
    tell("skip", "tensorflow kernel", "no usable GPU")
else:
    attempt("tensorflow kernel", kernel)
    attempt("tensorflow convolution", convolution)
