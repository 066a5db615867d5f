"""Runs: one here, many over workers, finished ones kept. Knows all back ends."""
