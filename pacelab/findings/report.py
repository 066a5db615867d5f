"""The result folder of `pacelab lab`: a picture for each finding, the sentences, and a table for each study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pacelab.documents import JsonObject
from pacelab.figures.figures import DPI, can_draw, images
from pacelab.figures.tables import comparison_csv
from pacelab.findings import fairness, limits, speed
from pacelab.findings.wording import Finding
from pacelab.grid.comparison import Comparison
from pacelab.results.folder import write_folder
from pacelab.results.results import dump


def find_all(found: Mapping[str, Comparison]) -> list[Finding]:
    """The three findings, from the comparisons of `studies`."""
    return [
        fairness.find(found["fairness"]),
        speed.find(found["chains"], found["link-red"]),
        limits.find(found["chains"], found["window"]),
    ]


def document(findings: Sequence[Finding], found: Mapping[str, Comparison]) -> JsonObject:
    """As JSON: the findings, and the compare.json of each study."""
    told = [{"name": one.name, "title": one.title, "sentences": list(one.sentences)} for one in findings]
    return {"findings": told, "studies": {name: comparison.compare for name, comparison in found.items()}}


def text_of(findings: Sequence[Finding]) -> str:
    """The findings as text, a paragraph each."""
    return (
        "\n\n".join("\n".join([f"{one.title}.", *(f"  {told}" for told in one.sentences)]) for one in findings) + "\n"
    )


def write(
    out: Path | None, findings: Sequence[Finding], found: Mapping[str, Comparison], host: Mapping[str, Any]
) -> Path:
    """Write the folder: NAME.png and NAME.svg of each finding, findings.txt, STUDY.json, STUDY.csv, host.json.

    Without matplotlib, the figures are left out with a note.
    """
    files: dict[str, bytes] = {"findings.txt": text_of(findings).encode(), "host.json": dump(dict(host))}
    if can_draw():
        files |= images(fairness.draw(found["fairness"]), fairness.NAME, dpi=DPI)
        files |= images(speed.draw(found["chains"], found["link-red"]), speed.NAME, dpi=DPI)
        files |= images(limits.draw(found["chains"], found["window"]), limits.NAME, dpi=DPI)
    for name, comparison in found.items():
        files |= {f"{name}.json": dump(comparison.compare), f"{name}.csv": comparison_csv(comparison).encode()}
    return write_folder(out, files, name="lab")
