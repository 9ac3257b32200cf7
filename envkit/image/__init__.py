"""From a plan to the parts of a container image, and the judgment of somebody's Dockerfile. Pure."""
