"""The maintainers' own programs; none of them is part of what users install."""
