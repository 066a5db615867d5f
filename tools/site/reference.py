"""Pages of the reference: the public API, which mkdocstrings fills from docstrings, and the schemas of results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pacelab
from pacelab import lab

ROOT = Path(__file__).parents[2]

API = {
    "running": (
        "Experiments and runs",
        "What is asked for, and running it: here, many at once, with progress.",
        ("experiment", "running", "errors", "console"),
    ),
    "results": ("Results and figures", "What a run gave, comparisons, sweeps, figures.", ("results", "show", "grid")),
    "networks": ("Networks", "Nodes, wires, flows, and where they are.", ("topologies",)),
    "own": (
        "Code of your own",
        "A congestion control, a pacer, a link layer; schemes as the lab has them.",
        ("own", "sim", "schemes", "demo"),
    ),
    "contract": ("The core's contract", "What an algorithm sees and what it may do.", ("pacer",)),
}
"""Page -> heading, what it holds, folders of pacelab whose public names stand there."""


def write(pages: Path) -> None:
    """Write the reference into the site's pages."""
    for name, (title, about, folders) in API.items():
        found = [f"{module}.{public}" for public, module in pacelab._PUBLIC.items() if module.split(".")[1] in folders]
        _write(pages / "api" / f"{name}.md", title, about, [f"::: {path}" for path in sorted(found, key=_last)])
    left = {module.split(".")[1] for module in pacelab._PUBLIC.values()}
    left -= {folder for _, _, folders in API.values() for folder in folders}
    if left:
        raise SystemExit(f"reference.py: on no page of the API: {', '.join(sorted(left))}")
    modules = [path.relative_to(ROOT) for path in sorted((ROOT / "pacer" / "core").glob("*/*.py"))]
    equations = [path for path in modules if path.stem in ("equations", "e_model")]
    _write(
        pages / "api" / "equations.md",
        "The papers' equations",
        "Each paper's equations stand in one module, by their numbers. The [glossary](../docs/glossary.md) leads from "
        "a symbol to its name.",
        [_equations(path) for path in equations],
    )
    names = [f"::: {getattr(lab, name).__module__}.{name}" for name in sorted(lab.__all__) if _documented(name)]
    _write(pages / "api" / "lab.md", "What notebooks use", "`from pacelab import lab`", names)
    for name, title in (("run", "run.json"), ("host", "host.json")):
        schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text("utf-8"))
        text = "\n".join(_schema(schema, title, f"../docs/{name}.schema.json"))
        _write(pages / "schemas" / f"{name}.md", title, text, [])


def _equations(path: Path) -> str:
    """Modules of one name, each under its paper's."""
    module = f"pacelab.{'.'.join(path.with_suffix('').parts)}"
    options = "{show_root_heading: false, show_root_toc_entry: false, heading_level: 3}"
    return f"## {path.parent.name} {path.stem} {{ #{module} }}\n\n::: {module}\n    options: {options}"


def _last(path: str) -> str:
    return path.rpartition(".")[2].lower()


def _documented(name: str) -> bool:
    return hasattr(getattr(lab, name), "__module__")


def _write(file: Path, title: str, about: str, parts: list[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n\n".join([f"# {title}", about, *parts]) + "\n", "utf-8")


def _schema(schema: dict[str, Any], title: str, file: str) -> Iterator[str]:
    """A table of each object; the unit of a number is in its name."""
    yield f"{schema['description']} The schema itself: [{file.rpartition('/')[2]}]({file}).\n"
    yield "Units are in the names: `_s` seconds, `_bps` bit/s, `_bytes`, `_pkts` packets, `_m` metres.\n"
    for name, part in {title: schema, **schema["$defs"]}.items():
        if "properties" not in part:
            continue
        if part is not schema:
            yield f"## {name}\n\n{part.get('description', '')}\n"
        yield "| field | type |\n|---|---|"
        for field, what in part["properties"].items():
            yield f"| `{field}`{'' if field in part.get('required', ()) else ' (may be absent)'} | {_type(what)} |"
        yield ""


def _type(what: dict[str, Any]) -> str:
    if "$ref" in what:
        name = what["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in what:
        return " or ".join(map(_type, what["anyOf"]))
    if "enum" in what:
        return "one of " + ", ".join(f"`{value}`" for value in what["enum"])
    if "const" in what:
        return f"`{what['const']}`"
    if what.get("type") == "array":
        return f"list of {_type(what['items'])}" if "items" in what else "list"
    if isinstance(what.get("additionalProperties"), dict):
        return f"object; each value: {_type(what['additionalProperties'])}"
    return str(what.get("type", "any"))
