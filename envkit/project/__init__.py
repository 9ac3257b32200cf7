"""Reads the files in which a project says what it needs, and judges them against a machine."""
