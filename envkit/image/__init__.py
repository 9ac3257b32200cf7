"""From a plan to the parts of a container image, and the judgement of somebody's Dockerfile. Pure."""
