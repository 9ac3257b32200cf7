"""What `doctor --fix` may do: a remedy's commands become typed steps, of which only known kinds are ever run."""
