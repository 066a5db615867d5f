"""How much a user may ask for at once. The command line and the Python API share these limits."""

from __future__ import annotations

from pacelab.domains import Whole

JOBS = Whole(1, 1024)
"""Worker processes."""
SEEDS = Whole(1, 10_000)
"""Runs of each scheme at each point."""
