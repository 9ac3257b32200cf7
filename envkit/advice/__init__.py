"""Which card suits a workload, and whether a machine carries it: tables and arithmetic, nothing of this machine."""
