"""Decide: from a request and a target, through the matrix, to a plan or a reasoned refusal. Pure functions."""
