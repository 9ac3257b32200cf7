"""Observe: one module per subject turns a host's answers into facts."""
