"""What programs and their packages do wrong on a machine that works."""
