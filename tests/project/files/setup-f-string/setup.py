from setuptools import setup

_TORCH = "==2.3.1"

setup(
    name="thing",
    install_requires=[
        f"torch{_TORCH}",
        "numpy<2",
    ],
)
