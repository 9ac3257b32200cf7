"""The front door for programs: `import envkit` returns what is here. Prints nothing and ends no process."""
