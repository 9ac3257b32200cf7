"""Values and errors that everything else is made of; imports nothing of envkit but `_startup`."""
