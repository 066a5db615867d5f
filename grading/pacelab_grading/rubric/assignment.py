"""An assignment: a template, checks with points, the names that a submission must define; planted mistakes.

Invariants, checked on construction
1. The points of the checks of one version sum to `TOTAL_POINTS`.
2. Check ids are unique. The result of a check is a share 0..1 of its points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pacelab import ConfigError
from pacelab_grading.rubric.context import CheckContext
from pacelab_grading.rubric.findings import Finding

TOTAL_POINTS = 100
FOLDER = Path(__file__).parents[1] / "assignments"

Number = int | str
"""Of an assignment 1 to 5; of a lab its name, "lab0" to "lab7"."""


def label(number: Number) -> str:
    """In words: "assignment 3", "lab 2"."""
    return f"assignment {number}" if isinstance(number, int) else f"lab {number.removeprefix('lab')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One row of the rubric."""

    id: str
    title: str
    """What the student's code must do, in one line."""
    points: float
    run: Callable[[CheckContext], Finding | None]
    """Returns None for all points. Raises `WrongAnswer` or a StudentFailure for none."""
    needs: tuple[str, ...]
    """Names that the submission must define for this check."""
    hint: str
    """What to think about when points are lost."""
    public: bool = False
    """`pacelab check` runs it as well, and students see it before the due date."""
    simulates: bool = False
    """It simulates: seconds, not a tenth of a second."""
    builds_on: tuple[str, ...] = ()
    """Names that the judged code uses. If one fails its own checks, the reference's takes its place in this check, so
    that a slip costs its own points and no others."""
    since: int = 1
    until: int | None = None
    """First and last version of the assignment that has this check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One hand-out."""

    number: Number
    title: str
    version: int
    folder: str
    """In grading/pacelab_grading/assignments; it has template.py, checks.py, model.py, wrong.py."""
    file: str
    """The file that students hand in; a notebook of the same stem is accepted."""
    checks: tuple[Check, ...]

    def __post_init__(self) -> None:
        for version in range(1, self.version + 1):
            found = self.checks_for(version)
            total = sum(check.points for check in found)
            if total != TOTAL_POINTS:
                raise ConfigError(
                    f"{self.label}, version {version}: its checks have {total:g} points; they must have {TOTAL_POINTS}"
                )
            if len({check.id for check in found}) != len(found):
                raise ConfigError(f"{self.label}, version {version}: two of its checks have the same id")

    def checks_for(self, version: int) -> tuple[Check, ...]:
        """The rubric of one version. A regrade uses the version that the student was given."""
        return tuple(
            check for check in self.checks if check.since <= version and (check.until is None or version <= check.until)
        )

    @property
    def label(self) -> str:
        """Its name in messages."""
        return label(self.number)

    @property
    def lean(self) -> bool:
        """Whether only the code that the checks need is taken from a file, because its other cells run experiments."""
        return False

    @property
    def handed_out(self) -> str:
        """All text that students were given, to find their answers in words. Empty if no answers are asked for."""
        return ""

    @property
    def names(self) -> tuple[str, ...]:
        """All names that a submission must define."""
        return tuple(dict.fromkeys(name for check in self.checks_for(self.version) for name in check.needs))

    def judged_by(self, name: str, version: int) -> tuple[str, ...]:
        """Ids of the checks that decide whether this name is right: those that need it and do not simulate."""
        return tuple(check.id for check in self.checks_for(version) if name in check.needs and not check.simulates)

    @property
    def model(self) -> str:
        """The model solution's text."""
        return (self.path / "model.py").read_text(encoding="utf-8")

    @property
    def path(self) -> Path:
        """The assignment's folder."""
        return FOLDER / self.folder

    @property
    def template(self) -> str:
        """The file that students start from."""
        return (self.path / "template.py").read_text(encoding="utf-8")

    @property
    def stamp(self) -> str:
        """Assignment and version, as a submission states them: `PACELAB_ASSIGNMENT = "3/1"`."""
        return f"{self.number}/{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedMistake:
    """A wrong solution, made from a model solution by a change, with the checks that must catch it.

    A check that catches no planted mistake proves nothing. If a mistake costs points that were not meant for it,
    students will rightly complain about the rubric. `grading/tests` grades all planted mistakes.
    """

    name: str
    misconception: str
    changes: tuple[tuple[str, str], ...]
    """Texts of the model solution, each found exactly once, with their replacements."""
    loses: tuple[str, ...]
    """Ids of the checks that give less than their points; all other checks give all of theirs."""

    def apply(self, model: str) -> str:
        """The wrong solution."""
        for old, new in self.changes:
            if model.count(old) != 1:
                raise ValueError(
                    f"planted mistake {self.name!r}: {old!r} is {model.count(old)} times in the model, not once"
                )
            model = model.replace(old, new)
        return model
