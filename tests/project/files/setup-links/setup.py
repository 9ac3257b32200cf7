from setuptools import setup

setup(
    name="tomeov",
    install_requires=["torch==1.13.1+cpu", "torchvision==0.14.1+cpu"],
    dependency_links=["https://download.pytorch.org/whl/cpu"],
)
