"""Checks of the driver: packages, kernel module, device nodes, user-space libraries."""
