"""What makes every command start fast; README.md says what each part saves."""
