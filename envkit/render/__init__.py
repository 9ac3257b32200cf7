"""Render: one module per output, each a pure function of a plan, an environment or findings."""
