"""Reads claim files. Errors name the file, the line, the key, and the valid values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pacelab.claims.model import Claim, SetUp, Strict
from pacelab.domains import like_which
from pacelab.errors import ConfigError

DATA = files("pacelab.claims") / "data"
CLAIMS = "claims.yaml"
"""A paper's file: first the paper (see `Paper`), then its claims, one YAML document each."""
OWN = (".yaml", ".yml")
"""Suffixes of a user's claim file."""

Content = TypeVar("Content", bound=BaseModel)


def papers() -> list[str]:
    """The papers with packaged claims, in alphabetical order."""
    return sorted(folder.name for folder in DATA.iterdir() if folder.is_dir())


def all_claims() -> dict[str, Claim]:
    """Every packaged claim by id: papers in alphabetical order, claims in the order of their file."""
    return {name: claim for paper in papers() for name, claim in claims_of(paper).items()}


@cache
def claims_of(paper: str) -> dict[str, Claim]:
    """The paper's packaged claims by id."""
    try:
        return _claims(paper, paper_documents(paper, fast=True))
    except ConfigError:  # reported below, with its line
        return _claims(paper, paper_documents(paper))


def _claims(paper: str, found: Iterator[Any]) -> dict[str, Claim]:
    claims: dict[str, Claim] = {}
    head, *documents = list(found) or [None]
    for document in documents:
        if isinstance(head, MutableMapping) and isinstance(document, MutableMapping):
            document.setdefault("as_it_was", head.get("as_it_was"))
        claim = validate(document, place_of(paper), Claim)
        if claim.paper != paper or claim.id in claims:
            raise ConfigError(f"claim file {place_of(paper)}: {claim.id} must be a claim of {paper} and occur once")
        claims[claim.id] = claim
    return claims


def select_claims(name: str, *, else_allowed: str = "") -> list[Claim]:
    """The claims that an id, a paper or `all` selects. Raises ConfigError that lists the papers.

    `else_allowed` adds another valid choice to the message. Files of other papers are not read: all of them take a
    second.
    """
    known = papers()
    if name == "all":
        return list(all_claims().values())
    if name in known:
        return list(claims_of(name).values())
    for paper in known:
        if name.startswith(f"{paper}-") and name in claims_of(paper):
            return [claims_of(paper)[name]]
    comma = ", " if else_allowed else " or "
    valid = f"all, a paper ({', '.join(known)}){comma}an id that `pacelab claims` lists{else_allowed}"
    ids = [claim for paper in known if name.startswith(f"{paper}-") for claim in claims_of(paper)]
    raise ConfigError(f"claim must be {valid}, not {name!r}{like_which(name, ids, digits=True)}")


def find_claims(name: str) -> list[Claim]:
    """Like `select_claims`; also reads a user's FILE.yaml with one claim per document."""
    if not name.endswith(OWN):
        return select_claims(name, else_allowed=", or FILE.yaml, your own file")
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot read claim file {name!r} ({why}); give the path of a .yaml file in UTF-8") from None
    found: dict[str, Claim] = {}
    taken = papers()  # the folders' names only: reading all claims would take a second
    for document in _documents(text, name):
        claim = validate(document, name, Claim)
        if claim.paper in taken or claim.id in found:
            raise ConfigError(
                f"claim file {name}: {claim.id}: use each id once, and a paper of your own, for example own"
            )
        found[claim.id] = claim
    if not found:
        raise ConfigError(f"claim file {name} is empty; `pacelab new claim NAME` writes an example")
    return list(found.values())


def parse_claim(text: str, place: str) -> Claim:
    """The claim in the YAML `text` of the file called `place`."""
    return parse_file(text, place, Claim)


def parse_file(text: str, place: str, kind: type[Content]) -> Content:
    """The YAML `text` of the file `place` as a `kind`."""
    return validate(next(_documents(text, place), None), place, kind)


def paper_documents(paper: str, *, fast: bool = False) -> Iterator[Any]:
    """The documents of the paper's file, read only as far as requested; `fast`: without line numbers."""
    return _documents((DATA / paper / CLAIMS).read_text(encoding="utf-8"), place_of(paper), fast=fast)


def place_of(paper: str) -> str:
    """The name of the paper's file in errors."""
    return f"{paper}/{CLAIMS}"


def validate(tree: Any, place: str, kind: type[Content]) -> Content:
    """Validate a document of the file `place` as a `kind`."""
    if not isinstance(tree, Mapping):
        raise ConfigError(
            f"claim file {place}, line 1: must be lines of `key: value`; `pacelab new claim NAME` writes an example"
        )
    try:
        return kind.model_validate(_plain(tree))
    except ValidationError as error:
        first = error.errors()[0]
        steps = first["loc"]
        if steps[-1:] == NO_SCALAR:
            first["type"], steps = NO_SCALAR[0], steps[:-1]
        key = ".".join(map(str, steps)) or "the whole"
        raise ConfigError(f"claim file {place}, line {_line(tree, steps)}, key {key}: {_explain(first)}") from None


def _documents(text: str, place: str, *, fast: bool = False) -> Iterator[Any]:
    """Documents with line numbers, or without them in a sixth of the time."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    try:
        yield from (YAML(typ="safe") if fast else YAML(typ="rt", pure=True)).load_all(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        why = error.problem or error.context
        raise ConfigError(f"claim file {place}, line {line}: not valid YAML: {why}; write YAML 1.2") from None


PYDANTIC = "Input should be "
"""How pydantic's messages begin."""
NO_SCALAR = ("bool",)
"""The end of the path of pydantic's first error of a value that is no `Scalar`: the first type of the union, no key."""


def _explain(error: Any) -> str:
    texts = {
        "extra_forbidden": "unknown key; remove it or correct its name",
        "missing": "the key is missing; add it, as in the example that `pacelab new claim NAME` writes",
    }
    valid = {
        NO_SCALAR[0]: "one value (a text, a number, true, or false; a list of values belongs under `axes`)",
        "string_pattern_mismatch": "small letters and digits, with single hyphens between them",
    }
    if error["type"] in valid:
        return f"must be {valid[error['type']]}, not {_short(error['input'])}"
    message: str = texts.get(error["type"]) or error["msg"].removeprefix("Value error, ")
    if message.startswith(PYDANTIC):
        return f"must be {message.removeprefix(PYDANTIC)}, not {_short(error['input'])}"
    if error["type"] in texts or message.startswith("must be "):  # a domain names the value
        return message
    return f"{message} (found {_short(error['input'])})"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _line(tree: Any, steps: Sequence[int | str]) -> int:
    """Line of the deepest existing part of the path, counted from 1."""
    line = tree.lc.line if hasattr(tree, "lc") else 0
    for step in steps:
        try:
            positions = getattr(tree, "lc")  # noqa: B009 - an attribute of the loader's mappings and lists
            line = (positions.key if isinstance(tree, Mapping) else positions.item)(step)[0]
            tree = tree[step]
        except (KeyError, IndexError, TypeError, AttributeError):
            break
    return int(line) + 1


def _plain(value: Any) -> Any:
    """The value without the loader's own types, which carry positions."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


class Paper(Strict):
    """A paper whose claims were run: its title, and our judgement of it as a whole (the first document of its file)."""

    id: str
    title: str
    authors: str
    venue: str
    judgement: str
    """Written after the full runs, based on the judgements of the claims."""
    as_it_was: SetUp | None = None
    """The second set-up of every claim that declares none itself."""


def load_paper(name: str) -> Paper:
    """The paper whose claims are in the folder `name`."""
    return validate(next(paper_documents(name), None), place_of(name), Paper)
