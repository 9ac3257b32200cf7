"""The README's two commands as a newcomer runs them; the programs here need nothing but Python and root."""
