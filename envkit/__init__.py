"""envkit provisions and diagnoses GPU deep-learning environments."""

__version__ = "0.1.0"
