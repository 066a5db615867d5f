"""What an assignment is: a template, checks with points, the names that a submission must define; planted mistakes.

Invariants, checked on construction
1. The points of the checks that hold for a version sum to `TOTAL_POINTS`.
2. Check ids are unique. A check's result is a share 0..1 of its points: partial credit grows with the share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pacelab import ConfigError

if TYPE_CHECKING:
    from pacelab_grading.lab import Lab


TOTAL_POINTS = 100
HERE = Path(__file__).parent / "assignments"

Number = int | str
"""Of an assignment, 1 to 5; of a lab, its name: "lab0" to "lab7"."""


def label(number: Number) -> str:
    """In words: "assignment 3", "lab 2"."""
    return f"assignment {number}" if isinstance(number, int) else f"lab {number.removeprefix('lab')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check found: a share of its points, what was expected, and what the code did."""

    share: float
    expected: str
    got: str
    picture: str = ""
    """SVG, where it helps."""


class Wrong(Exception):
    """A check's way to stop: no points, with what was expected and what came instead."""

    def __init__(self, expected: str, got: str, picture: str = "") -> None:
        super().__init__(f"expected {expected}; got {got}")
        self.finding = Finding(share=0.0, expected=expected, got=got, picture=picture)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One row of the rubric."""

    id: str
    title: str
    """What the student's code must do, in a line."""
    points: float
    run: Callable[[Lab], Finding | None]
    """None: all points. Raises `Wrong` or a StudentFailure for none."""
    needs: tuple[str, ...]
    """Names that the submission must define for it."""
    hint: str
    """What to think about, when points are lost."""
    public: bool = False
    """Run by `pacelab check` too, and shown to students before the due date."""
    simulates: bool = False
    """Takes seconds rather than a tenth of one."""
    above: tuple[str, ...] = ()
    """Names that what it judges is built on. One that is wrong by its own checks is the reference's here, so that a
    slip costs its own points and no others."""
    since: int = 1
    until: int | None = None
    """First and last version of the assignment that it belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One hand-out."""

    number: Number
    title: str
    version: int
    folder: str
    """Below grading/pacelab_grading/assignments: template.py, checks.py, model.py, wrong.py."""
    file: str
    """What students hand in; a notebook of the same stem will do."""
    checks: tuple[Check, ...]

    def __post_init__(self) -> None:
        for version in range(1, self.version + 1):
            found = self.checks_for(version)
            total = sum(check.points for check in found)
            if total != TOTAL_POINTS:
                told = f"its checks have {total:g} points: allowed are {TOTAL_POINTS}"
                raise ConfigError(f"{self.label}, version {version}: {told}")
            if len({check.id for check in found}) != len(found):
                raise ConfigError(f"{self.label}, version {version}: two of its checks have one id")

    def checks_for(self, version: int) -> tuple[Check, ...]:
        """The rubric of one version: a regrade uses that of the version a student was given."""
        return tuple(
            check for check in self.checks if check.since <= version and (check.until is None or version <= check.until)
        )

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return label(self.number)

    @property
    def lean(self) -> bool:
        """Whether only what the checks need is taken of a file: of a notebook that also runs experiments."""
        return False

    @property
    def handed_out(self) -> str:
        """All text that students were given: what they wrote beside it are their answers. Empty: none are asked for."""
        return ""

    @property
    def names(self) -> tuple[str, ...]:
        """All that a submission must define."""
        return tuple(dict.fromkeys(name for check in self.checks_for(self.version) for name in check.needs))

    def judged_by(self, name: str, version: int) -> tuple[str, ...]:
        """Ids of the checks that say whether this name is right: those that need nothing else, and simulate nothing."""
        return tuple(check.id for check in self.checks_for(version) if name in check.needs and not check.simulates)

    @property
    def model(self) -> str:
        """The model solution's text."""
        return (self.path / "model.py").read_text(encoding="utf-8")

    @property
    def path(self) -> Path:
        """The assignment's folder."""
        return HERE / self.folder

    @property
    def template(self) -> str:
        """What students start from."""
        return (self.path / "template.py").read_text(encoding="utf-8")

    @property
    def stamp(self) -> str:
        """How a submission says which assignment and version it answers, as in `PACELAB_ASSIGNMENT = "3/1"`."""
        return f"{self.number}/{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One misconception.

    A wrong solution, made of a model solution by a change, with the checks that must catch it. A check that catches no
    planted mistake proves nothing; a mistake that costs other points than those meant for it is a rubric that students
    will rightly complain about. `grading/tests` grades them all.
    """

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
