"""Many machines in one report."""
