"""The back end `sim`: compiles an experiment to an air configuration and runs the engine with hooks in this process.

It depends on the package `results`.
"""
