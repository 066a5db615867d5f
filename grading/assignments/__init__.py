"""The assignments, by number."""

from __future__ import annotations

from pacelab.grading.assignments.registry import ASSIGNMENTS, find_assignment

__all__ = ["ASSIGNMENTS", "find_assignment"]
