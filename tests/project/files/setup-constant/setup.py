from setuptools import find_packages, setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

NAME = "SAM 2"
REQUIRED_PACKAGES = [
    "torch>=2.1.2",
    "torchvision>=0.16.2",
    "numpy>=1.24.4",
]
EXTRA_PACKAGES = {"dev": ["black==24.2.0"]}

setup(
    name=NAME,
    install_requires=REQUIRED_PACKAGES,
    extras_require=EXTRA_PACKAGES,
    python_requires=">=3.10.0",
    ext_modules=[CUDAExtension("sam2._C", ["a.cu"])],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
)
