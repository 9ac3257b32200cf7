"""Commands: parse, call, print, exit code. No decisions."""
