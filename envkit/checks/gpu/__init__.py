"""Checks of the GPUs: presence, health, links, sharing."""
