"""One module per text format, each with a reader that yields clues; a new format is a new module here."""
