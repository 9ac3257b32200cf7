"""Faults that outsiders reported of the install scripts, each tried again as they tried it."""
