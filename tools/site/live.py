"""The live pages of the site, each a file of its own, and the page that lists them: python tools/site/live.py PAGES"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from pacelab.demo.catalog import DEMOS
from pacelab.demo.page import export


def main(pages: Path) -> None:
    """Write them."""
    rows = []
    for name, demo in DEMOS.items():
        (pages / "live").mkdir(exist_ok=True)
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
