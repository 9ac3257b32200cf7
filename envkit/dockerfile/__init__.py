"""Reads somebody's Dockerfile and checks it. Pure."""
