from setuptools import find_packages, setup

setup(
    name="pyfmc",
    packages=find_packages("."),
    long_description=open("README.md", "r").read(),
    install_requires=["torch==2.0.0", "tqdm==4.65.0", "numpy==1.24.3"],
    classifiers=["Programming Language :: Python :: 3.8"],
)
