"""The command line: a thin layer over the public functions. It may import every other package."""
