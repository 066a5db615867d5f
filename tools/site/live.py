"""The live pages of the site, each a file of its own, and the page that lists them: python tools/site/live.py PAGES"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from pacelab.demo.catalog import DEMOS
from pacelab.demo.own import export_own, open_own
from pacelab.demo.page import export

DRAWN = ("chain", "newreno,delayed-ack")
"""A network to draw on, and its schemes: such that need no Python, so that all of it is live."""


def main(pages: Path) -> None:
    """Write them."""
    (pages / "live").mkdir(exist_ok=True)
    topology, schemes = DRAWN
    export_own(open_own(topology, schemes.split(",")), pages / "live" / "own.html")
    rows = [
        "## A network of your own\n\nDraw it: nodes, wires, flows; two schemes side by side; save it as a file that "
        "`pacelab run` takes.\n\n[Open it](live/own.html): the engine runs in it. "
        "[More](docs/demos.md#any-network).\n\n"
        f"    pacelab demo {topology} --scheme {schemes} --export own.html\n"
    ]
    for name, demo in DEMOS.items():
        export(demo, pages / "live" / f"{name}.html")
        where = "with every setting and three seeds in it, run beforehand" if demo.python else "the engine runs in it"
        rows.append(
            f"## {demo.title}\n\n{escape(demo.question)}\n\n"
            f"[Open it](live/{name}.html): {where}.\n\n    pacelab demo {name} --export {name}.html\n"
        )
    text = (
        "# The air, live\n\nEach is one file that needs nothing else: it may be saved and shown without a network. "
        "[How they are used](docs/demos.md) in a lecture, on slides, in a notebook.\n\n"
    )
    (pages / "live.md").write_text(text + "\n".join(rows), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
