"""Many machines in one report: their states, the causes that they share, and where they differ from their like."""
