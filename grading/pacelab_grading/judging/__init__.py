"""Judges submissions.

judge    runs the checks of an assignment on one submission
process  the same in a separate process, which is killed at its deadline
"""
