"""User code: base classes, loading, imports, seeds, limits on time and memory, messages. Imports nothing here: the
autograder's sandbox has this file and `bases` only.
"""
