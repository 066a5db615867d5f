"""How platforms name the files that they export. The platform's names identify the student; nothing inside a file does.

    Canvas       flat: NAME[_LATE]_USER_ATTACHMENT_FILE, where NAME is the sortable name in lower case without spaces;
                 with anonymous grading [LATE_]anon_CODE_ATTACHMENT_FILE; typed text: NAME[_LATE]_USER_text.html
    Moodle       a folder for each student: [GROUP-]FULL NAME_PARTICIPANT_assignsubmission_file_, or files with that
                 prefix if not downloaded in folders; with anonymous grading the name is "Participant"
    Gradescope   assignment_N_export/: a folder submission_N for each hand-in, and submission_metadata.yml with the
                 students
    GitHub       a folder for each student, ASSIGNMENT-USERNAME; the roster has the usernames (for group work, the
                 teams)
    Blackboard   flat: ASSIGNMENT_USERNAME_attempt_DATE_FILE, and ASSIGNMENT_USERNAME_attempt_DATE.txt about it
    Brightspace  a folder for each attempt of a student: USER-ATTEMPT - FULL NAME - DATE
    Sakai        a folder for each student: LAST, FIRST(USERNAME)/, with the files in "Submission attachment(s)", the
                 time in timestamp.txt, and files of Sakai's own; also for students who handed in nothing

An instructor may give a pattern for other names (`KnownNames.pattern`). Only top-level names of a place count, and only
if nearly all of them have the platform's form: a single one is a slip.

Of several attempts of one student, the newest counts.

Source: Canvas, lib/content_zipper.rb; Moodle, mod/assign (downloader, locallib); Gradescope's exports as otter-grader
and others read them; GitHub's docs, "Using GitHub Classroom with GitHub CLI"; the names of Blackboard and Brightspace
as nbgrader's and CodeGrade's importers read them; Sakai, AssignmentServiceImpl.zipSubmissions.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pacelab import ConfigError
from pacelab_grading.receive.places import Item, items_in_folder, name_of_duplicate, top_level_entries
from pacelab_grading.text.printable import printable
from pacelab_grading.text.times import iso_time

CANVAS = re.compile(
    r"^(?:(?P<student>[^/]+?)(?P<late>_LATE)?_(?P<id>\d+)|(?P<anonlate>LATE_)?anon_(?P<code>\w+?))"
    r"_(?:(?P<part>\d+)_(?P<name>[^/]+)|(?P<typed>(?:text|link)\.html))$"
)
CANVAS_AGAIN = re.compile(r"-\d+(?=\.\w+$)")
"""Canvas numbers files that are handed in again."""
MOODLE = re.compile(r"^(?P<student>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>\w+?)_?$")
MOODLE_FLAT = re.compile(r"^(?P<student>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>file|onlinetext)_(?P<name>[^/]+)$")
METADATA = "submission_metadata.yml"
CREATED = re.compile(
    r"^  :created_at: ['\"]?(\S+)[ T](\d+:\d+:\d+)(?:\.\d+)?(?: ?(Z|[+-]\d\d:?\d\d))?", flags=re.MULTILINE
)
MAX_METADATA_BYTES = 64 << 20
MAX_BLOCK_CHARACTERS = 20_000
BLACKBOARD = re.compile(
    r"^(?P<work>.+?)_(?P<student>[^_/]+)_attempt_(?P<time>\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d)(?:_(?P<file>[^/]+)|\.txt)$"
)
BRIGHTSPACE = re.compile(r"^(?P<id>\d+)-\d+ - (?P<student>.+?) - (?P<time>[A-Z][a-z]+ \d{1,2}, \d{4} .+)$")
SAKAI = re.compile(r"^(?P<student>[^/,]+,[^/]*)\((?P<id>[^/()]+)\)$")
BRIGHTSPACE_INDEX, GRADES_CSV = "index.html", "grades.csv"
SAKAI_FILES = "Submission attachment(s)/"
SAKAI_TIME, SAKAI_TEXT = "timestamp.txt", "_submissionText.html"
SAKAI_OWN = (SAKAI_TIME, "comments.txt", "feedbackText.html")
"""Files in a student's folder that Sakai writes, besides the text that the student typed."""
MAX_TIME_BYTES = 100
GROUPS = ("student", "id", "time", "file")
"""Groups of an instructor's pattern; only `student` is required."""
BY_NAMES = "names"
"""The platform of hand-ins that an instructor's pattern found."""
MATCH_S = 10
"""Processor time for matching an instructor's pattern with all names of a place. It takes milliseconds."""
MIN_RATIO = 3
"""For each other name, at least this many names must have the platform's form."""


@dataclass(slots=True, kw_only=True)
class HandIn:
    """The files of one student or one team, as the platform distinguishes them."""

    platform: str
    """canvas, moodle, gradescope, github, blackboard, brightspace, sakai, names (by pattern); else empty."""
    name: str
    identity: str = ""
    """The platform's number or username of the student."""
    people: list[dict[str, str]] = field(default_factory=list)
    """Gradescope's submitters: name, sid, email."""
    late: bool = False
    submitted: str = ""
    """ISO 8601, if the platform records it."""
    returned_as: str = ""
    """Start of a file name under which the platform takes feedback for this hand-in."""
    items: list[Item] = field(default_factory=list)
    """In order of precedence, if known: Canvas's newest first."""
    problems: list[str] = field(default_factory=list)
    """What was odd about the names."""
    named_after_student: bool = False
    """Its only file has the name of its student, as the instructor wants it, and not that of the assignment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNames:
    """What the instructor tells about the names of hand-ins."""

    names: Collection[str] = ()
    """Students' names and ids in the roster, and the names of their groups."""
    usernames: Collection[str] = ()
    """Students' GitHub usernames in the roster."""
    accounts: Collection[str] = ()
    """Students' usernames on Blackboard in the roster."""
    pattern: re.Pattern[str] | None = None
    """Form of the top-level names, with the groups `student` and optionally `id`, `time`, `file`."""


def _listed(pattern: re.Pattern[str]) -> str:
    names = ", ".join(pattern.groupindex)
    return f"the named groups {names}" if names else "no named group"


def name_pattern(text: str) -> re.Pattern[str]:
    """The instructor's pattern. Raises ConfigError."""
    try:
        found = re.compile(text)
    except re.error as error:
        raise ConfigError(f"--names {text!r} is not a regular expression ({error}); see Python's re") from None
    if "student" not in found.groupindex or not set(found.groupindex) <= set(GROUPS):
        raise ConfigError(
            f"--names {text!r} has {_listed(found)}; give (?P<student>...), and optionally (?P<id>...), (?P<time>...), "
            "(?P<file>...)"
        )
    return found


@contextmanager
def _time_limit(pattern: re.Pattern[str]) -> Iterator[None]:
    """Raise ConfigError if matching an instructor's pattern takes long: students choose the names that it is tried on.

    Python's re can be interrupted by a signal, but not by another thread.
    """

    def stop(*_: object) -> None:
        raise ConfigError(
            f"--names {pattern.pattern!r} takes more than {MATCH_S} s; write it without nested repetition such as (a+)+"
        )

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MATCH_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


NO_NAMES = KnownNames()


def read_export(items: Sequence[Item], known: KnownNames = NO_NAMES) -> tuple[list[HandIn], list[Item]] | None:
    """The hand-ins of a platform's export, and the items that belong to none; None if it is no export.

    An export may contain a few things that the platform did not name: a model solution, a file that came by e-mail.
    """
    if known.pattern is not None:
        with _time_limit(known.pattern):
            found = _by_pattern(items, known.pattern, BY_NAMES)
        return (found, _unclaimed(items, found)) if found else None
    places = (items, without_outer_folder(items))
    layouts = (_gradescope, _moodle, _canvas, partial(_blackboard, known.accounts), _brightspace, _sakai)
    # GitHub's names have the weakest form, so they are tried last.
    tries = [(inner, layout) for inner in places for layout in layouts]
    tries += [(inner, partial(_github, known.usernames)) for inner in places]
    for inner, layout in tries:
        found = layout(inner)
        rest = _unclaimed(inner, found)
        if found and (layout is _gradescope or nearly_all(len(found), len(top_level_entries(rest)))):
            return found, rest
    return None


def nearly_all(named: int, other: int) -> bool:
    """Whether nearly all names have the platform's form."""
    return other * MIN_RATIO <= named


def canvas_name(name: str) -> HandIn | None:
    """The student of a single file with a name in Canvas's form."""
    match = CANVAS.match(name)
    if match is None:
        return None
    identity = match["id"] or match["code"]
    return HandIn(
        platform="canvas",
        name=match["student"] or f"anonymous {identity}",
        identity=identity,
        late=bool(match["late"] or match["anonlate"]),
    )


def without_outer_folder(items: Sequence[Item]) -> list[Item]:
    """The items without the folder that contains all of them; empty if there is no such folder."""
    folders = {item.parts[0] if len(item.parts) > 1 else "" for item in items}
    return items_in_folder(items, folders.pop()) if len(folders) == 1 and "" not in folders else []


def _unclaimed(items: Sequence[Item], found: Sequence[HandIn]) -> list[Item]:
    claimed = {id(item.read) for hand_in in found for item in hand_in.items}
    platform = found[0].platform if found else ""
    return [item for item in items if id(item.read) not in claimed and not _is_platforms_own(item, platform)]


def _is_platforms_own(item: Item, platform: str) -> bool:
    """Whether the platform wrote this file about the export."""
    if platform == "sakai":
        return item.name == GRADES_CSV or (
            SAKAI.fullmatch(item.parts[0]) is not None
            and len(item.parts) == 2
            and (item.parts[1] in SAKAI_OWN or item.parts[1].endswith(SAKAI_TEXT))
        )
    return item.name == (BRIGHTSPACE_INDEX if platform == "brightspace" else METADATA)


def _canvas(items: Sequence[Item]) -> list[HandIn]:
    found: dict[tuple[str, str], HandIn] = {}
    for item in sorted(items, key=_attachment, reverse=True):
        hand_in = canvas_name(item.name)
        if hand_in is None:
            continue
        mine = found.setdefault((hand_in.identity, hand_in.name), hand_in)
        mine.late |= hand_in.late
        match = CANVAS.match(item.name)
        assert match is not None
        name = match["typed"] or CANVAS_AGAIN.sub("", match["name"])
        if any(other.name == name for other in mine.items):
            older = name_of_duplicate(name, f"attachment {match['part']}")
            mine.problems.append(f"{name} was handed in again: the newest is graded, not {older}")
            name = older
        if match["part"] and not mine.returned_as:
            mine.returned_as = item.name[: match.start("name")]
        mine.items.append(replace(item, name=name))
    return list(found.values())


def _attachment(item: Item) -> int:
    """The number of the attachment; Canvas counts up, so a later one has a higher number."""
    match = CANVAS.match(item.name)
    return int(match["part"] or 0) if match else 0


def _moodle(items: Sequence[Item]) -> list[HandIn]:
    found: dict[tuple[str, str], HandIn] = {}
    for item in items:
        match = MOODLE.match(item.parts[0]) if len(item.parts) > 1 or item.is_folder else MOODLE_FLAT.match(item.name)
        if match is None:
            continue
        hand_in = HandIn(platform="moodle", name=match["student"], identity=match["id"])
        mine = found.setdefault((hand_in.identity, hand_in.name), hand_in)
        name = "/".join(item.parts[1:]) or match.groupdict().get("name", item.name)
        # Moodle takes feedback only from folders whose names end with an underscore, as those of older downloads do.
        folder = f"{item.parts[0].rstrip('_')}_/"
        if match["kind"] == "file" or not mine.returned_as:  # text that was typed online has a folder of its own
            mine.returned_as = folder if match.re is MOODLE else item.name[: match.start("name")]
        mine.items.append(replace(item, name=name))
    return list(found.values())


def _gradescope(items: Sequence[Item]) -> list[HandIn]:
    metadata = next((item for item in items if item.name == METADATA and not item.problem), None)
    content = None if metadata is None else metadata.read(MAX_METADATA_BYTES)
    if content is None:
        return []
    found = []
    for folder, people, submitted in _blocks(content.decode("utf-8", "replace")):
        names = ", ".join(person["name"] or person["email"] for person in people) or folder
        hand_in = HandIn(platform="gradescope", name=names, identity=folder, people=people, submitted=submitted)
        hand_in.items = items_in_folder(items, folder)
        found.append(hand_in)
    return found


def _blocks(text: str) -> Iterator[tuple[str, list[dict[str, str]], str]]:
    """Folder, submitters and time of each submission.

    Only these few lines are read as YAML. The rest is results of earlier runs, with what students' code printed.
    """
    for block in re.split(r"^(?=submission_\w+:\s*$)", text, flags=re.MULTILINE):
        head, _, rest = block.partition(":")
        if not re.fullmatch(r"submission_\w+", head):  # the name of a folder, which cannot point outside
            continue
        submitters = re.search(r"^  :submitters:\n((?:  [- ] .*\n?)*)", rest, flags=re.MULTILINE)
        created = CREATED.search(rest)
        people = [] if submitters is None else _people(submitters[1][:MAX_BLOCK_CHARACTERS])
        yield printable(head, 80), people, "" if created is None else f"{created[1]}T{created[2]}{created[3] or ''}"


def _people(block: str) -> list[dict[str, str]]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if re.search(r"[&*]\w", re.sub(r"(['\"]).*?\1", "", block)):  # anchors and aliases, which no platform writes
        return []
    try:
        found: Any = YAML(typ="safe", pure=True).load(block)
    except (YAMLError, ValueError, RecursionError):
        return []
    if not isinstance(found, list):
        return []
    people = [person for person in found if isinstance(person, dict)]
    return [
        {key: printable(str(person.get(f":{key}") or ""), 200) for key in ("name", "sid", "email")} for person in people
    ]


def _github(usernames: Collection[str], items: Sequence[Item]) -> list[HandIn]:
    """Folders that end in a username of the roster and share the text before it."""
    known = {name.casefold(): name for name in usernames if name}
    folders = dict.fromkeys(item.parts[0] for item in items if len(item.parts) > 1)
    owners = {top: [name for name in known if top.casefold().endswith(f"-{name}")] for top in folders}
    slugs = [top[: -len(max(names, key=len)) - 1] for top, names in owners.items() if names]
    if not slugs:
        return []
    slug = max(set(slugs), key=slugs.count)
    found = []
    for top in folders:
        if top.startswith(f"{slug}-"):
            username = top[len(slug) + 1 :]
            found.append(HandIn(platform="github", name=username, identity=username, items=items_in_folder(items, top)))
    return found


def _blackboard(accounts: Collection[str], items: Sequence[Item]) -> list[HandIn]:
    """Usernames and titles of assignments may contain `_`, so the usernames of the roster decide where a title ends."""
    longest_first = sorted(filter(None, accounts), key=lambda name: (-len(name), name))
    known = "|".join(f"(?i:{re.escape(name)})" for name in longest_first)
    pattern = re.compile(BLACKBOARD.pattern.replace("[^_/]+", f"{known}|[^_/]+" if known else "[^_/]+"))
    return _by_pattern(items, pattern, "blackboard")


def _brightspace(items: Sequence[Item]) -> list[HandIn]:
    return _by_pattern([item for item in items if len(item.parts) > 1], BRIGHTSPACE, "brightspace", feedback="")


def _sakai(items: Sequence[Item]) -> list[HandIn]:
    inside = [item for item in items if len(item.parts) > 1]
    found = _by_pattern(inside, SAKAI, "sakai", feedback="Feedback Attachment(s)/")
    for hand_in in found:
        times = [item.read(MAX_TIME_BYTES) for item in hand_in.items if item.name == SAKAI_TIME]
        hand_in.submitted = iso_time((times[0] or b"").decode("utf-8", "replace")) if times else ""
        own = SAKAI_OWN if times else (*SAKAI_OWN, f"{hand_in.name}({hand_in.identity}){SAKAI_TEXT}")
        kept = [item for item in hand_in.items if item.name not in own]
        hand_in.items = [replace(item, name=item.name.removeprefix(SAKAI_FILES)) for item in kept]
    return [hand_in for hand_in in found if hand_in.items or hand_in.submitted]


def _by_pattern(
    items: Sequence[Item], pattern: re.Pattern[str], platform: str, *, feedback: str | None = None
) -> list[HandIn]:
    """Hand-ins whose top-level name matches. Files of a student's older attempts get other names.

    `feedback`: the folder below that of the hand-in into which the platform takes feedback; None if it takes none.
    """
    found: dict[tuple[str, str], HandIn] = {}
    newest: dict[tuple[str, str], str] = {}
    for item in sorted(items, key=lambda item: _time_in_name(item, pattern), reverse=True):
        match = pattern.fullmatch(item.parts[0])
        if match is None:
            continue
        groups = {name: value or "" for name, value in match.groupdict().items()}
        student, identity = printable(groups["student"], 200), groups.get("id", "")
        identity = student if platform == "blackboard" else identity
        key = (identity, student)
        mine = found.setdefault(key, HandIn(platform=platform, name=student, identity=identity))
        name = "/".join(item.parts[1:]) or groups.get("file") or item.name
        mine.named_after_student = platform == BY_NAMES and name == item.name
        time = groups.get("time", "")
        if time != newest.setdefault(key, time):
            name = name_of_duplicate(name, f"attempt {time}")
        else:
            mine.submitted = iso_time(time)
            mine.returned_as = "" if feedback is None else f"{item.parts[0]}/{feedback}"
        mine.items.append(replace(item, name=name))
    return list(found.values())


def _time_in_name(item: Item, pattern: re.Pattern[str]) -> str:
    """The time in a name, so that texts are in the order of times."""
    match = pattern.fullmatch(item.parts[0])
    time = (match.groupdict().get("time") or "") if match else ""
    return iso_time(time) or time
