"""What is measured, by which limit it is judged, and what was published: everything but the measuring itself."""
