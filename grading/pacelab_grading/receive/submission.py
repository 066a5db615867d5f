"""One student's hand-in as the text of one module, with problems.

A file that cannot be read, a wrong name, a notebook with other cells: each becomes a problem that says what to do, and
everything that can be graded is graded.
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
from pacelab_grading.receive.notebook import cells_of, is_notebook, module_of
from pacelab_grading.receive.places import NAMED_AS_CODE, BadPlace, Item, file_at, open_place
from pacelab_grading.receive.statements import imported, modules_beside, parsed, with_available_imports
from pacelab_grading.rubric.assignment import Assignment, Number, label
from pacelab_grading.text.printable import printable
from pacelab_grading.text.source_file import READER, decoded, most_bytes, other_kind
from pacelab_grading.text.typography import plain_code

STAMP = re.compile(r"""^PACELAB_ASSIGNMENT\s*=\s*["'](\d+)/(\d+)["']""", re.MULTILINE)

ANYWHERE = re.compile(r"""PACELAB_ASSIGNMENT\s*=\s*\\?["'](\d+)/\d+""")
"""The stamp, also in the JSON of a notebook, where quotes are escaped."""
LAB = re.compile(r"""lab\.check\(\s*\\?["'](lab\d)\.""")
"""The lab's name in a lab, at each exercise."""
EXPORTED = re.compile(r"^get_ipython\(\)\.", re.MULTILINE)
"""Jupyter writes this for `%` and `!` when it exports a notebook as .py."""
MARIMO = re.compile(r"^app = marimo\.App\(", re.MULTILINE)
CONFLICT = re.compile(r"^<<<<<<< ", re.MULTILINE)
WORKED_IN, UNREADABLE, HANDED_OUT = range(3)
"""States of a file, in order of precedence when several could be graded."""
MAX_ANSWERS, MAX_ANSWER = 40, 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One student's submission, ready for the judge."""

    student: str
    source: str | None
    """The text of the module; None if there is none to grade."""
    unread: bool = False
    """There may be one, but this machine could not read it (permission, time)."""
    version: int | None = None
    """Version of the assignment in the stamp of the file."""
    problems: tuple[str, ...] = ()
    """One line each: what is wrong and what to do."""
    helpers: tuple[tuple[str, str], ...] = ()
    """The student's own modules that it imports: path relative to the file, text."""
    received: tuple[str, ...] = ()
    """Every file that was handed in, and what became of it."""
    answers: tuple[str, ...] = ()
    """Text cells of a lab that the student added or edited."""
    late: bool = False
    """The platform marked it as late."""
    submitted: str = ""
    """Time in ISO 8601, if the platform records it."""
    platform: str = ""
    identity: str = ""
    """The platform's number or username of the student."""
    returned_as: str = ""
    """Start of a file name under which the platform takes feedback for it."""
    name: str = ""
    """The name on the platform or in the place; `student` is this name made unique."""
    people: tuple[tuple[str, str, str], ...] = ()
    """The students of a joint hand-in, if the platform records them: name, id, e-mail."""


def submission_from_json(document: Mapping[str, Any]) -> Submission:
    """Read a submission back from the JSON of `asdict`."""
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
    """Choose the file to grade among `files` (name -> content) and read it, with the modules that it imports.

    `problems` are already known. `main` is the file to grade, if known. `others` are names of other files handed in.
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
    """Names of the assignment that only a file which is not graded defines."""
    if source is None:
        return
    graded = "\n".join((source, *helpers.values()))
    missing = [name for name in assignment.names if not defines(graded, name)]
    for file in sorted(files):
        text = decoded(files[file])[0] if NAMED_AS_CODE.search(file) and file != main else ""
        if there := [name for name in missing if defines(text, name)]:
            yield (
                f"{file} defines {', '.join(there)}, but the graded file {main} does not: put everything "
                "into one file, or import the other one"
            )


def defines(text: str, name: str) -> bool:
    """Whether a text defines a function or class of this name, also as JSON, where line ends are escaped."""
    return re.search(rf"(\b|\\n)(def|class)\s+{name}\b", text) is not None


def _fate(file: str, main: str | None, top: str, helpers: Mapping[str, str], source: str | None) -> str:
    if file == main:
        return "graded" if source is not None else "chosen, but cannot be graded"
    below = file[len(top) + 1 :] if top and file.startswith(f"{top}/") else file
    return "imported" if below in helpers else "left out, the graded file does not import it"


def _choose(
    files: Mapping[str, bytes], assignment: Assignment, problems: list[str], others: Sequence[str]
) -> str | None:
    """The file to grade: of the right name and edited by the student, else the one that defines or resembles most."""
    wanted = assignment.file
    stem = wanted.removesuffix(".py")
    code = {name: name.rsplit("/", 1)[-1] for name in sorted(files) if NAMED_AS_CODE.search(name)}
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
        readable = " that can be read" if problems else ""
        problems.append(
            f"no Python file or notebook{readable} was handed in ({seen}): hand in {wanted} or {stem}.ipynb"
        )
        return None
    best, *others_like = sorted(best_of or code, key=lambda name: (-whole[name], -like[name][0], -like[name][1], name))
    if not any(like[best]):
        problems.append(
            f"{code[best]} defines nothing that {assignment.label} asks for ({', '.join(assignment.names)}): is it for "
            f"another course? Hand in {wanted} or {stem}.ipynb"
        )
        return None
    if broken := [name for name in exact if state.get(name) == UNREADABLE]:
        problems.append(f"{broken[0]} cannot be read, so {best} is graded: fix it, or do not hand it in")
    if same := [name for name in others_like if like[name][0] == like[best][0] > 0 and whole[name] == whole[best]]:
        problems.append(f"{', '.join(same[:5])} could be meant as well; {best} is graded: hand in one")
    return best


def _one_of(mine: Sequence[str], code: Mapping[str, str], problems: list[str], *, worked: bool) -> str:
    """The first of several files with a right name, such as the file and its notebook."""
    bases = {code[name].lower() for name in mine}
    if len(mine) > 1 and all(any(name in told for told in problems) for name in mine[1:]):
        return mine[0]  # `collect` has reported it
    if len(mine) > 1 and len(bases) == 1:
        problems.append(f"{bases.pop()} was handed in {len(mine)} times; {mine[0]} is graded: hand in one")
    elif len(mine) > 1 and worked:
        problems.append(f"{' and '.join(mine)} were both edited; {mine[0]} is graded: hand in one")
    return mine[0]


def _state(name: str, files: Mapping[str, bytes], assignment: Assignment, like: int) -> int:
    """Whether the student edited it: a definition differs from the template, or it imports the student's own module.

    `like`: how many of the assignment's names it defines.
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
        return WORKED_IN  # the template can be parsed


def untouched(submission: Submission, assignment: Assignment) -> bool:
    """Whether every definition that the assignment asks for is as in the template, and there is at least one."""
    try:
        found = _definitions(submission.source or "", assignment)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return bool(found) and found <= _definitions(assignment.template, assignment)


def _definitions(source: str, assignment: Assignment) -> set[str]:
    """The texts of the definitions that the assignment asks for."""
    lines = [line.rstrip() for line in source.splitlines()]
    tree = ast.parse("\n".join(lines))
    asked = [node for node in tree.body if getattr(node, "name", None) in assignment.names]
    return {"\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in asked}


def _misnamed(name: str, content: bytes, assignment: Assignment) -> list[str]:
    """A problem if the graded file has another name than the assignment's; a notebook stays a notebook."""
    base = name.rsplit("/", 1)[-1]
    notebook = is_notebook(decoded(content)[0], base)
    right = f"{assignment.file.removesuffix('.py')}{'.ipynb' if notebook else '.py'}"
    if base.lower() == right:
        return []
    odd = " and is a notebook" if notebook and not base.lower().endswith(".ipynb") else ""
    return [f"the file is called {base}{odd}; it was graded, but call it {right}"]


def _resemblance(content: bytes, base: str, assignment: Assignment) -> tuple[int, float]:
    """How much a file resembles the requested one: names that it defines and its stamp, then its own name."""
    text, _ = decoded(content)
    names = sum(defines(text, name) for name in assignment.names)
    close = difflib.SequenceMatcher(None, base, assignment.file).ratio()
    stamped = f'"{assignment.number}/' in text or f'\\"{assignment.number}/' in text
    return names + stamped, close if close > 0.6 else 0.0


def _with_imported(name: str, files: Mapping[str, bytes], assignment: Assignment) -> int:
    """How many of the assignment's names a file defines, including the student's own modules that it imports."""
    text = decoded(files[name])[0]
    texts = [text, *imported(text, modules_beside(name, files), []).values()]
    return sum(any(defines(part, asked) for part in texts) for asked in assignment.names)


def _text_of(
    name: str, content: bytes, assignment: Assignment, problems: list[str], local: Collection[str]
) -> str | None:
    if len(content) > most_bytes(name):
        problems.append(f"{name} has {len(content):,} bytes; at most {most_bytes(name):,} are read: clear the outputs")
        return None
    if not content.strip():
        problems.append(f"{name} is empty: save your work and hand it in again")
        return None
    if kind := other_kind(content):
        problems.append(f"{name} {kind}")
        return None
    text, problem = decoded(content)
    if "\0" in text:
        problem = "contains zero bytes and is not a text file: save it as UTF-8"
    if problem:
        problems.append(f"{name} {problem}")
    if "\0" in text:
        return None
    if assignment.lean and (other := stated_number(text)) not in (None, assignment.number):
        problems.append(f"{name} is for {label(other)}, and this is {assignment.label}: hand in the right file")
        return None
    if assignment.lean or EXPORTED.search(text) or is_notebook(text, name):
        module = module_of(text, name, assignment.names, local, lean=assignment.lean)
        problems += module.problems
        return module.source
    return _script(name, text, assignment, problems, local)


def _script(name: str, text: str, assignment: Assignment, problems: list[str], local: Collection[str]) -> str | None:
    """A .py file without imports that the sandbox lacks; with IPython's statements, it is read like a notebook."""
    if MARIMO.search(text):
        problems.append(f"{name} is a marimo notebook: hand in the script that `marimo export script` writes")
        return None
    first: Exception | None = None
    for tried, remark in ((text, ""), plain_code(text)):
        try:
            source, changes = with_available_imports(tried, local)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            first = first or error
            continue
        problems += [f"{name}, {change}" for change in (remark, *changes) if change]
        return source
    assert first is not None
    if isinstance(first, SyntaxError) and _is_ipython(text):
        module = module_of(text, name, assignment.names, local)
        problems += module.problems
        return module.source
    problems.append(f"{name}{_unread(first, text)}")
    return None


def _unread(error: Exception, text: str) -> str:
    """Why a text cannot be read, after the name of its file."""
    if conflict := CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        return f", line {line}: a merge conflict; keep one version, and remove the lines <<<<<<<, ======= and >>>>>>>"
    place = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
    return f"{place}: {type(error).__name__}: {getattr(error, 'msg', error)}; fix this first ({READER})"


def _is_ipython(text: str) -> bool:
    """Whether a text is Python once IPython's statements are removed, as some editors save notebooks."""
    try:
        parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _stamped(name: str, source: str, assignment: Assignment, problems: list[str]) -> tuple[str | None, int | None]:
    """The source and the version in its stamp; None for a file of another assignment."""
    stamp = STAMP.search(source)
    if stamp is None:
        problems.append(
            f'{name} has no stamp, so the newest version is assumed: add PACELAB_ASSIGNMENT = "{assignment.stamp}"'
        )
        return source, None
    number, version = int(stamp[1]), int(stamp[2])
    if number != assignment.number:
        problems.append(f"{name} is for assignment {number}, and this is {assignment.label}: hand in the right file")
        return None, None
    if not 1 <= version <= assignment.version:
        problems.append(
            f"{name} has version {version}; valid are 1 to {assignment.version}, so the newest version is assumed"
        )
        return source, None
    return source, version


def stated_number(text: str) -> Number | None:
    """The assignment or lab that a text states; None if it states none, or several."""
    stamp = ANYWHERE.search(text)
    labs = set(LAB.findall(text))
    return int(stamp[1]) if stamp else labs.pop() if len(labs) == 1 else None


def answers_of(content: bytes, assignment: Assignment) -> tuple[str, ...]:
    """The text that a student added to a notebook's text cells."""
    if not assignment.handed_out:
        return ()
    given = {line.strip("# \t") for line in assignment.handed_out.splitlines()}
    try:
        cells = cells_of(decoded(content)[0], "markdown")
    except ValueError:  # a .py
        return ()
    own = ["\n".join(line for line in cell.splitlines() if line.strip("# \t") not in given) for cell in cells]
    return tuple(printable(text.strip(), MAX_ANSWER, lines=True) for text in own if text.strip())[:MAX_ANSWERS]


def stamped_number(places: Sequence[Path]) -> Number:
    """The assignment that the files in `places` state. Raises ConfigError unless they agree. Zips are not opened."""
    found: set[Number] = set()
    for place in places:
        for item in _files_of(place):
            number = stated_number(decoded(item.read(most_bytes(item.name)) or b"")[0]) if item.is_code else None
            found |= set() if number is None else {number}
    if len(found) != 1:
        stamps = ", ".join(sorted(map(str, found)))
        told = f"the files state different assignments ({stamps})" if found else "no file states its assignment"
        raise ConfigError(f"{told}; give --assignment N")
    return found.pop()


def _files_of(place: Path) -> list[Item]:
    if not place.is_dir():
        return [file_at(os.path.realpath(place), place.name)]
    try:
        with open_place(place) as items:
            return items
    except BadPlace:
        return []
