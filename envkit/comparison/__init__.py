"""Two machines, or one at two times, held against each other: what changed, and which change explains what is new."""
