"""Limits on the size of a request. The command line and the Python API share them."""

from __future__ import annotations

from pacelab.domains import Whole

JOBS = Whole(1, 1024)
"""Worker processes."""
SEEDS = Whole(1, 10_000)
"""Runs of each scheme at each point."""
