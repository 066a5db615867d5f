"""How platforms name what they export. A platform says who handed something in; what was handed in says nothing of it.

    Canvas      flat: NAME[_LATE]_USER_ATTACHMENT_FILE, NAME the sortable name in small letters without spaces; with
                anonymous grading [LATE_]anon_CODE_ATTACHMENT_FILE; a text that was typed: NAME[_LATE]_USER_text.html
    Moodle      a folder for each: [GROUP-]FULL NAME_PARTICIPANT_assignsubmission_file_, or, not downloaded in folders,
                files with that in front; with anonymous grading "Participant" for the name
    Gradescope  assignment_N_export/: a folder submission_N for each, and submission_metadata.yml, which says whose
    GitHub      a folder for each, ASSIGNMENT-USERNAME; the roster knows the names (group assignments: the team's)

Names decide on the outermost level of what the instructor names, and nowhere below; and only where nearly all are a
platform's: a single one is somebody's slip.

Source: Canvas, lib/content_zipper.rb; Moodle, mod/assign (downloader, locallib); Gradescope's exports as their readers
(otter-grader among them) take them; GitHub's docs, "Using GitHub Classroom with GitHub CLI".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pacelab_grading.plain import plain
from pacelab_grading.receive.places import Item, below, beside, tops

CANVAS = re.compile(
    r"^(?:(?P<student>[^/]+?)(?P<late>_LATE)?_(?P<id>\d+)|(?P<anonlate>LATE_)?anon_(?P<code>\w+?))"
    r"_(?:(?P<part>\d+)_(?P<name>[^/]+)|(?P<typed>(?:text|link)\.html))$"
)
CANVAS_AGAIN = re.compile(r"-\d+(?=\.\w+$)")
"""Canvas numbers what is handed in again."""
MOODLE = re.compile(r"^(?P<student>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>\w+?)_?$")
MOODLE_FLAT = re.compile(r"^(?P<student>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>file|onlinetext)_(?P<name>[^/]+)$")
METADATA = "submission_metadata.yml"
CREATED = re.compile(
    r"^  :created_at: ['\"]?(\S+)[ T](\d+:\d+:\d+)(?:\.\d+)?(?: ?(Z|[+-]\d\d:?\d\d))?", flags=re.MULTILINE
)
MAX_METADATA_BYTES = 64 << 20
MAX_BLOCK_CHARACTERS = 20_000
MOST_STRANGE = 3
"""For each name that is not the platform's there are at least so many that are."""


@dataclass(slots=True, kw_only=True)
class HandIn:
    """What one student, or one team, handed in, as the platform tells them apart."""

    platform: str
    """canvas, moodle, gradescope, github; empty for a place of the instructor's own."""
    name: str
    identity: str = ""
    """The platform's own."""
    people: list[dict[str, str]] = field(default_factory=list)
    """Gradescope's submitters: name, sid, email."""
    late: bool = False
    submitted: str = ""
    """ISO 8601, where the platform tells."""
    items: list[Item] = field(default_factory=list)
    """In the order in which they count, where that is known: Canvas's newest first."""
    problems: list[str] = field(default_factory=list)
    """What was odd about the names."""


def exported(items: Sequence[Item], usernames: Collection[str] = ()) -> tuple[list[HandIn], list[Item]] | None:
    """The hand-ins of a platform's export with what belongs to none; None for what is no export.

    An export holds few things that the platform did not name: a model solution, what came by e-mail, the zip itself.
    """
    for inner in (items, stripped(items)):
        for layout in (_gradescope, _moodle, _canvas):
            found = layout(inner)
            rest = _unclaimed(inner, found)
            if found and (layout is _gradescope or nearly_all(len(found), len(tops(rest)))):
                return found, rest
    found = _github(items, usernames)
    rest = _unclaimed(items, found)
    return (found, rest) if found and nearly_all(len(found), len(tops(rest))) else None


def nearly_all(named: int, strange: int) -> bool:
    """Whether a platform named so many, with this many that it did not."""
    return strange * MOST_STRANGE <= named


def canvas_name(name: str) -> HandIn | None:
    """Whose a loose file of Canvas's is."""
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


def stripped(items: Sequence[Item]) -> list[Item]:
    """Without the folder that all of it lies in."""
    folders = {item.parts[0] if len(item.parts) > 1 else "" for item in items}
    return below(items, folders.pop()) if len(folders) == 1 and "" not in folders else []


def _unclaimed(items: Sequence[Item], found: Sequence[HandIn]) -> list[Item]:
    claimed = {id(item.read) for hand_in in found for item in hand_in.items}
    return [item for item in items if id(item.read) not in claimed and item.name != METADATA]


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
            older = beside(name, f"attachment {match['part']}")
            mine.problems.append(f"{name} was handed in again: the newest is graded, not {older}")
            name = older
        mine.items.append(replace(item, name=name))
    return list(found.values())


def _attachment(item: Item) -> int:
    """Canvas counts up: what came later has the higher number."""
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
        mine.items.append(replace(item, name=name))
    return list(found.values())


def _gradescope(items: Sequence[Item]) -> list[HandIn]:
    metadata = next((item for item in items if item.name == METADATA and not item.odd), None)
    content = None if metadata is None else metadata.read(MAX_METADATA_BYTES)
    if content is None:
        return []
    found = []
    for folder, people, submitted in _blocks(content.decode("utf-8", "replace")):
        names = ", ".join(person["name"] or person["email"] for person in people) or folder
        hand_in = HandIn(platform="gradescope", name=names, identity=folder, people=people, submitted=submitted)
        hand_in.items = below(items, folder)
        found.append(hand_in)
    return found


def _blocks(text: str) -> Iterator[tuple[str, list[dict[str, str]], str]]:
    """Folder, submitters and time of each submission.

    Only these few lines of each are read as YAML: the rest is results of earlier runs, in them what students printed.
    """
    for block in re.split(r"^(?=submission_\w+:\s*$)", text, flags=re.MULTILINE):
        head, _, rest = block.partition(":")
        if not re.fullmatch(r"submission_\w+", head):  # a folder's name, and no way out of it
            continue
        submitters = re.search(r"^  :submitters:\n((?:  [- ] .*\n?)*)", rest, flags=re.MULTILINE)
        created = CREATED.search(rest)
        people = [] if submitters is None else _people(submitters[1][:MAX_BLOCK_CHARACTERS])
        yield plain(head, 80), people, "" if created is None else f"{created[1]}T{created[2]}{created[3] or ''}"


def _people(block: str) -> list[dict[str, str]]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if re.search(r"[&*]\w", re.sub(r"(['\"]).*?\1", "", block)):  # anchors and aliases: no platform writes them
        return []
    try:
        found: Any = YAML(typ="safe", pure=True).load(block)
    except (YAMLError, ValueError, RecursionError):
        return []
    if not isinstance(found, list):
        return []
    people = [person for person in found if isinstance(person, dict)]
    return [
        {key: plain(str(person.get(f":{key}") or ""), 200) for key in ("name", "sid", "email")} for person in people
    ]


def _github(items: Sequence[Item], usernames: Collection[str]) -> list[HandIn]:
    """Folders that end in a username of the roster, and share what stands before it."""
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
            found.append(HandIn(platform="github", name=username, identity=username, items=below(items, top)))
    return found
