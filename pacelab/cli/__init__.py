"""The command line: thin over the public functions. Knows everything."""
