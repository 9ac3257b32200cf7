"""Checks of frameworks, their packages and their Python."""
