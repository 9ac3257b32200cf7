"""The front door for programs: `import envkit` hands out what is here. Prints nothing and ends no process."""
