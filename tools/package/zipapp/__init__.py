"""One file that holds envkit and all that it needs, for machines where nothing may be installed."""
