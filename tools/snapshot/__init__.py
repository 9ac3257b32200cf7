"""What the program prints, recorded before a change of its structure and compared after it."""
