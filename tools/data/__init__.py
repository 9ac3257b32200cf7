"""Keeps the compatibility tables right: compares them with the package index and vendors' listings."""
