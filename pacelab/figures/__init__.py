"""Tables and figures of results, and the timeline of the air. It depends on `results`, but not on packages that run
experiments.
"""
