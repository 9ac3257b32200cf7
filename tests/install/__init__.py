"""Tests of the install script: rendered in every combination, and run for real with stand-in runfiles."""
