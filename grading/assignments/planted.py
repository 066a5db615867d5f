"""Wrong solutions, made of a model solution by a change, with the checks that must catch them.

A check that catches no planted mistake proves nothing; a mistake that costs other points than those meant for it is
a rubric that students will rightly complain about. `tests/grading` grades them all.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One misconception."""

    name: str
    misconception: str
    changes: tuple[tuple[str, str], ...]
    """Texts of the model solution, each found once, with what stands there instead."""
    loses: tuple[str, ...]
    """Ids of the checks that give less than all of their points; all others give all."""

    def apply(self, model: str) -> str:
        """The wrong solution."""
        for old, new in self.changes:
            if model.count(old) != 1:
                raise ValueError(f"planted {self.name!r}: {model.count(old)} places in the model read {old!r}")
            model = model.replace(old, new)
        return model
