FROM mambaorg/micromamba:1.5.8
RUN micromamba install -y -n base -c conda-forge pytorch=2.1.0 && micromamba clean --all --yes
