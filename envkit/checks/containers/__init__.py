"""Checks of containers, WSL and Jetson."""
