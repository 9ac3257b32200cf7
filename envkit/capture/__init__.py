"""Recordings of machines: made, masked and replayed."""
