"""Runs: one experiment here or many over workers, and storage of finished runs. May import all back ends."""
