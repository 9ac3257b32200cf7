"""One module per family of project files. Each turns a text into a `Manifest`, and runs nothing."""
