import setuptools

setuptools.setup(name="pythia", install_requires=["torch==1.7.1"], python_requires='>=3.6')
