"""The only layer that touches a machine: files, commands, libraries, the Docker engine."""
