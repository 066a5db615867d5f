"""What a student handed in, as text of one module, with what was odd about it.

A file that cannot be read, a name that is off, a notebook with junk in it: each is a line that says what to do, and
whatever can be graded still is.
"""

from __future__ import annotations

import ast
import difflib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab import ConfigError
from pacelab_grading.assignment import Assignment, Number, label
from pacelab_grading.plain import READER, decoded, most_bytes, other_kind, plain
from pacelab_grading.receive.notebook import cells_of, is_notebook, module_of
from pacelab_grading.receive.places import CODE, BadPlace, Item, file_at, opened
from pacelab_grading.receive.statements import imported, modules_beside

STAMP = re.compile(r"""^PACELAB_ASSIGNMENT\s*=\s*["'](\d+)/(\d+)["']""", re.MULTILINE)

ANYWHERE = re.compile(r"""PACELAB_ASSIGNMENT\s*=\s*\\?["'](\d+)/\d+""")
"""The same in a notebook's JSON, too, where quotes are escaped."""
LAB = re.compile(r"""lab\.check\(\s*\\?["'](lab\d)\.""")
"""The like in a lab, which says it at each exercise."""
EXPORTED = re.compile(r"^get_ipython\(\)\.", re.MULTILINE)
"""What Jupyter makes of `%` and `!` in a notebook that is downloaded as .py."""
WORKED_IN, UNREADABLE, HANDED_OUT = range(3)
"""What a file is: of several the first kind goes before the next."""
MAX_ANSWERS, MAX_ANSWER = 40, 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One student's, ready for the judge."""

    student: str
    source: str | None
    """The module's text; None when there is none to grade."""
    unread: bool = False
    """There may be one, which whoever grades was not let read."""
    version: int | None = None
    """Of the assignment, as the file is stamped."""
    problems: tuple[str, ...] = ()
    """One line each: what was found and what to do."""
    helpers: tuple[tuple[str, str], ...] = ()
    """Modules of the student's own that it imports: path beside it, text."""
    received: tuple[str, ...] = ()
    """Every file that was handed in, and what became of it."""
    answers: tuple[str, ...] = ()
    """Text cells of a lab that the student wrote or wrote in."""
    late: bool = False
    """The platform's own word for it."""
    submitted: str = ""
    """When, ISO 8601, where the platform tells."""
    platform: str = ""
    identity: str = ""
    """The platform's number of the student."""
    name: str = ""
    """As the platform or the place has it; `student` is that, made unlike all others'."""
    people: tuple[tuple[str, str, str], ...] = ()
    """Who handed it in together, where the platform tells: name, id, e-mail."""


def submission_from_json(document: Mapping[str, Any]) -> Submission:
    """A submission read back from `asdict`'s JSON."""
    values = dict(document)
    for name in ("helpers", "people"):
        values[name] = tuple(tuple(item) for item in values[name])
    texts = {name: tuple(values[name]) for name in ("problems", "received", "answers")}
    return Submission(**{**values, **texts})


def read_submission(
    student: str,
    files: Mapping[str, bytes],
    assignment: Assignment,
    *,
    problems: Sequence[str] = (),
    main: str | None = None,
    others: Sequence[str] = (),
) -> Submission:
    """Choose the file to grade among those handed in (name -> content) and read it; `problems` are known already.

    Modules beside it that it imports come along. `main` is the file to grade, where that is known; `others` are the
    names of what was handed in, too, and is no code.
    """
    problems = list(problems)
    name = main or _choose(files, assignment, problems, others)
    helpers: dict[str, str] = {}
    source = version = None
    if name is not None:
        beside = modules_beside(name, files)
        source = _text_of(name, files[name], assignment, problems, frozenset(path.split("/")[0] for path in beside))
        if source is not None and not assignment.lean:
            source, version = _stamped(name, source, assignment, problems)
        if source is not None and main is None:
            problems += _misnamed(name, files[name], assignment)
        helpers = imported(source or "", beside, problems)
        problems += _elsewhere(name, source, helpers, files, assignment) if main is None else ()
    top = "" if name is None else name.rpartition("/")[0]
    return Submission(
        student=student,
        source=source,
        version=version,
        problems=tuple(problems),
        helpers=tuple(sorted(helpers.items())),
        answers=answers_of(files[name], assignment) if name is not None and source is not None else (),
        received=tuple(f"{file}: {_fate(file, name, top, helpers, source)}" for file in sorted(files)),
    )


def _elsewhere(
    main: str, source: str | None, helpers: Mapping[str, str], files: Mapping[str, bytes], assignment: Assignment
) -> Iterator[str]:
    """What is asked for that is in a file which is not graded, and in none that is."""
    if source is None:
        return
    graded = "\n".join((source, *helpers.values()))
    missing = [name for name in assignment.names if not defines(graded, name)]
    for file in sorted(files):
        text = decoded(files[file])[0] if file.lower().endswith(CODE) and file != main else ""
        if there := [name for name in missing if defines(text, name)]:
            told = f"and {main}, which is graded, does not: put all into one file, or import the other"
            yield f"{file} defines {', '.join(there)}, {told}"


def defines(text: str, name: str) -> bool:
    """Whether a text defines a function or class of this name. In a notebook's JSON line ends are escaped."""
    return re.search(rf"(\b|\\n)(def|class)\s+{name}\b", text) is not None


def _fate(file: str, main: str | None, top: str, helpers: Mapping[str, str], source: str | None) -> str:
    if file == main:
        return "graded" if source is not None else "chosen, and cannot be graded"
    below = file[len(top) + 1 :] if top and file.startswith(f"{top}/") else file
    return "imported" if below in helpers else "left out, nothing that is graded imports it"


def _choose(
    files: Mapping[str, bytes], assignment: Assignment, problems: list[str], others: Sequence[str]
) -> str | None:
    """The file to grade: the right name, the one worked in, else what defines or resembles it most; no empty one."""
    wanted = assignment.file
    stem = wanted.removesuffix(".py")
    code = {name: name.rsplit("/", 1)[-1] for name in sorted(files) if name.lower().endswith(CODE)}
    code = {name: base for name, base in code.items() if files[name].strip()} or code
    right = [wanted, f"{stem}.ipynb"]
    exact = [name for name, base in code.items() if base.lower() in right]
    exact.sort(key=lambda name: (right.index(code[name].lower()), code[name] != code[name].lower(), name))
    like = {name: _resemblance(files[name], base, assignment) for name, base in code.items()}
    whole = {name: _with_imported(name, files, assignment) if like[name][0] else 0 for name in code}
    near = [*exact, *(name for name in code if like[name][0] and name not in exact)]
    state = {name: _state(name, files, assignment, like[name][0]) for name in near} if len(near) > 1 else {}
    best_of = [name for name in near if not state or state[name] == min(state.values())]
    if mine := [name for name in exact if name in best_of]:
        return _one_of(mine, code, problems, worked=WORKED_IN in state.values())
    if not code:
        seen = ", ".join(sorted({*files, *others})[:5]) or "nothing"
        what = f"no Python file or notebook{' that can be read' if problems else ''}"
        problems.append(f"{what} was handed in ({seen}): hand in {wanted} or {stem}.ipynb")
        return None
    best, *others_like = sorted(best_of or code, key=lambda name: (-whole[name], -like[name][0], -like[name][1], name))
    if not any(like[best]):
        problems.append(
            f"{code[best]} has nothing of {assignment.label} in it (looked for "
            f"{', '.join(assignment.names)}): is it of another course? Hand in {wanted} or {stem}.ipynb"
        )
        return None
    if broken := [name for name in exact if state.get(name) == UNREADABLE]:
        problems.append(f"{broken[0]} cannot be read: graded is {best}; mend it, or leave it out")
    if same := [name for name in others_like if like[name][0] == like[best][0] > 0 and whole[name] == whole[best]]:
        problems.append(f"{', '.join(same[:5])} may be meant as well: graded is {best}; hand in one")
    return best


def _one_of(mine: Sequence[str], code: Mapping[str, str], problems: list[str], *, worked: bool) -> str:
    """The first of several with a right name; the other form is in the same folder."""
    bases = {code[name].lower() for name in mine}
    if len(mine) > 1 and all(any(name in told for told in problems) for name in mine[1:]):
        return mine[0]  # said where they were collected
    if len(mine) > 1 and len(bases) == 1:
        problems.append(f"{bases.pop()} is there {len(mine)} times: graded is {mine[0]}; hand in one")
    elif len(mine) > 1 and worked:
        problems.append(f"{' and '.join(mine)} are no longer as handed out: graded is {mine[0]}; hand in one")
    return mine[0]


def _state(name: str, files: Mapping[str, bytes], assignment: Assignment, like: int) -> int:
    """Whether it defines something of what is asked for otherwise than what was handed out does, or imports a module
    of the student's own, which does; `like`: how much of what is asked for.
    """
    beside = modules_beside(name, files)
    local = {path.split("/")[0] for path in beside}
    source = module_of(decoded(files[name])[0], name, assignment.names, local, lean=assignment.lean).source
    if source is None:
        return UNREADABLE if like else HANDED_OUT
    if imported(source, beside, []):
        return WORKED_IN
    try:
        given = _definitions(assignment.template, assignment)
        return HANDED_OUT if _definitions(source, assignment) <= given else WORKED_IN
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return WORKED_IN  # nothing like that was handed out


def untouched(submission: Submission, assignment: Assignment) -> bool:
    """Whether it defines something of what is asked for, and all of that as it was handed out."""
    try:
        found = _definitions(submission.source or "", assignment)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return bool(found) and found <= _definitions(assignment.template, assignment)


def _definitions(source: str, assignment: Assignment) -> set[str]:
    """The texts of those of what is asked for."""
    lines = [line.rstrip() for line in source.splitlines()]
    tree = ast.parse("\n".join(lines))
    asked = [node for node in tree.body if getattr(node, "name", None) in assignment.names]
    return {"\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in asked}


def _misnamed(name: str, content: bytes, assignment: Assignment) -> list[str]:
    """What a file that is graded should be called instead: a notebook remains one."""
    base = name.rsplit("/", 1)[-1]
    notebook = is_notebook(content.decode("utf-8-sig", "replace"), base)
    right = f"{assignment.file.removesuffix('.py')}{'.ipynb' if notebook else '.py'}"
    if base.lower() == right:
        return []
    odd = " and is a notebook" if notebook and not base.lower().endswith(".ipynb") else ""
    return [f"the file is called {base}{odd}: graded all the same, but call it {right}"]


def _resemblance(content: bytes, base: str, assignment: Assignment) -> tuple[int, float]:
    """How much a file looks like the one wanted: the names that it defines and its stamp, then its own name."""
    text, _ = decoded(content)
    names = sum(defines(text, name) for name in assignment.names)
    close = difflib.SequenceMatcher(None, base, assignment.file).ratio()
    stamped = f'"{assignment.number}/' in text or f'\\"{assignment.number}/' in text
    return names + stamped, close if close > 0.6 else 0.0


def _with_imported(name: str, files: Mapping[str, bytes], assignment: Assignment) -> int:
    """How much of what is asked for a file defines together with the student's own modules that it imports."""
    text = decoded(files[name])[0]
    texts = [text, *imported(text, modules_beside(name, files), []).values()]
    return sum(any(defines(part, asked) for part in texts) for asked in assignment.names)


def _text_of(
    name: str, content: bytes, assignment: Assignment, problems: list[str], local: Collection[str]
) -> str | None:
    if len(content) > most_bytes(name):
        problems.append(f"{name} has {len(content):,} bytes: allowed are {most_bytes(name):,}; clear the outputs")
        return None
    if not content.strip():
        problems.append(f"{name} is empty: save your work and hand it in again")
        return None
    if kind := other_kind(content):
        problems.append(f"{name} {kind}")
        return None
    text, problem = decoded(content)
    if "\0" in text:
        problem = "holds zero bytes, it is no text file: save it as UTF-8"
    if problem:
        problems.append(f"{name} {problem}")
    if "\0" in text or "UTF-16" in problem:
        return None
    if assignment.lean and (other := guessed(text)) not in (None, assignment.number):
        problems.append(f"{name} is of {label(other)}, this is {assignment.label}: hand in the other")
        return None
    if assignment.lean or EXPORTED.search(text) or is_notebook(text, name):
        module = module_of(text, name, assignment.names, local, lean=assignment.lean)
        problems += module.problems
        return module.source
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        place = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        problems.append(
            f"{name}{place}: {error.__class__.__name__}: {getattr(error, 'msg', error)}: mend this first ({READER})"
        )
        return None
    return text


def _stamped(name: str, source: str, assignment: Assignment, problems: list[str]) -> tuple[str | None, int | None]:
    """The source and the version that it is stamped with; of another assignment: nothing."""
    stamp = STAMP.search(source)
    if stamp is None:
        problems.append(
            f'{name} has no stamp: put PACELAB_ASSIGNMENT = "{assignment.stamp}" back (the newest version is assumed)'
        )
        return source, None
    number, version = int(stamp[1]), int(stamp[2])
    if number != assignment.number:
        problems.append(f"{name} is of assignment {number}, this is assignment {assignment.number}: hand in the other")
        return None, None
    if not 1 <= version <= assignment.version:
        problems.append(f"{name} is of version {version}, known are 1 to {assignment.version}: the newest is assumed")
        return source, None
    return source, version


def guessed(text: str) -> Number | None:
    """The assignment or lab that a file's text says it is of; None where it says none, or several."""
    stamp = ANYWHERE.search(text)
    labs = set(LAB.findall(text))
    return int(stamp[1]) if stamp else labs.pop() if len(labs) == 1 else None


def answers_of(content: bytes, assignment: Assignment) -> tuple[str, ...]:
    """What a notebook's text cells say beyond what was handed out."""
    if not assignment.handed_out:
        return ()
    given = {line.strip("# \t") for line in assignment.handed_out.splitlines()}
    try:
        cells = cells_of(decoded(content)[0], "markdown")
    except ValueError:  # a .py
        return ()
    own = ["\n".join(line for line in cell.splitlines() if line.strip("# \t") not in given) for cell in cells]
    return tuple(plain(text.strip(), MAX_ANSWER, lines=True) for text in own if text.strip())[:MAX_ANSWERS]


def stamped_number(places: Sequence[Path]) -> Number:
    """The assignment that the files among `places` say they are of; ConfigError unless they agree. Zips stay shut."""
    found: set[Number] = set()
    for place in places:
        for item in _files_of(place):
            number = guessed(decoded(item.read(most_bytes(item.name)) or b"")[0]) if item.is_code else None
            found |= set() if number is None else {number}
    if len(found) != 1:
        stamps = ", ".join(sorted(map(str, found))) or "none that can be read from here"
        raise ConfigError(f"which assignment? the files are stamped with {stamps}: say --assignment N")
    return found.pop()


def _files_of(place: Path) -> list[Item]:
    if not place.is_dir():
        return [file_at(os.path.realpath(place), place.name)]
    try:
        with opened(place) as items:
            return items
    except BadPlace:
        return []
