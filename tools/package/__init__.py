"""Building and trying the distributions."""
