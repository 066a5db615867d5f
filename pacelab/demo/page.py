"""The component with its engine and one demonstration, as one file that needs nothing else."""

from __future__ import annotations

import base64
import html
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

from pacelab.demo.catalog import DEMOS, Demo
from pacelab.demo.runs import recorded
from pacelab.errors import HostError
from pacelab.results.folder import write_file

MODULES = ("engine.js", "air.js", "view.js", "scene.js", "timeline.js", "curves.js", "demo.js")
"""The component's modules, each after those it imports."""
ENGINE = "engine.wasm"
IMPORT = re.compile(r"^import .*?;\n", re.MULTILINE)

START = """
const page = JSON.parse(document.getElementById("demo").textContent);
const backEnd = async () => {
  if (page.demo.live) return nothingYet();
  if (page.recorded) return recordedRuns(page.demo, page.recorded);
  if (page.demo.python) return serverRuns(page.demo);
  const bytes = Uint8Array.from(atob(page.engine), (letter) => letter.charCodeAt(0));
  return engineRuns(page.demo, await startEngine(bytes));
};
backEnd().then((run) => {
  const element = document.createElement("pacelab-demo");
  document.querySelector("main").replaceChildren(element);
  element.start(page.demo, run);
  if (page.demo.live) follow(element);
}).catch((error) => { document.querySelector("main").innerHTML = `<p class="pacelab-error">${error}</p>`; });
"""


def static(name: str) -> str:
    """One of the component's files."""
    return resources.files("pacelab.demo").joinpath("static", name).read_text("utf-8")


def engine_bytes() -> bytes:
    """The engine's WebAssembly module; HostError says how to get it."""
    file = resources.files("pacelab.demo").joinpath("static", ENGINE)
    if not file.is_file():
        raise HostError(
            "demo: the engine's WebAssembly module was not built with this installation: "
            "`make demo` in the source tree builds it, or says what to install for that"
        )
    return file.read_bytes()


def bundle(*more: str) -> str:
    """The component as one script: its modules in order and `more`, without their imports and exports."""
    return script(*MODULES, *more)


def script(*names: str) -> str:
    """These modules in order, without their imports and exports."""
    parts = [re.sub(r"^export ", "", IMPORT.sub("", static(name)), flags=re.MULTILINE) for name in names]
    return "\n".join(parts)


def page(demo: Demo) -> str:
    """One HTML page with all that the page itself runs in it; Python's schemes stay behind the server."""
    backing = {} if demo.python else {"engine": base64.b64encode(engine_bytes()).decode("ascii")}
    return _page(demo, backing)


def recorded_page(demo: Demo) -> str:
    """The page of a Python demonstration with the outcomes of all its settings in it."""
    return _page(demo, {"recorded": list(recorded(demo))})


def live_page(document: dict[str, Any]) -> str:
    """The page that follows a running network; `document` is `Live.document`."""
    return _page_of(document, {})


def _page(demo: Demo, backing: dict[str, Any]) -> str:
    return _page_of(demo.document(), backing)


def _page_of(document: dict[str, Any], backing: dict[str, Any]) -> str:
    return data_page(document["title"], {"demo": document, **backing}, f"{bundle()}\n{START}")


def data_page(title: str, data: dict[str, Any], script: str) -> str:
    """A page whose `script` finds `data` as JSON in the element "demo"."""
    # "<" could end the script element ("</") or hide its end ("<!--").
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    return _document(
        title,
        "<main><p>Starting the engine …</p></main>\n"
        "<noscript><p>This page needs JavaScript: open it in a browser that runs it.</p></noscript>\n"
        f'<script id="demo" type="application/json">{text}</script>\n'
        f'<script type="module">{script}</script>',
    )


def index(query: str = "") -> str:
    """A page that lists the demonstrations; `query` is put behind each link."""
    rows = "\n".join(
        f'<li><a href="/{name}{html.escape(query)}">{html.escape(demo.title)}</a>: {html.escape(demo.question)}</li>'
        for name, demo in DEMOS.items()
    )
    return _document(
        "PaceLab: demonstrations", f'<main class="pacelab-list"><h1>Demonstrations</h1><ul>{rows}</ul></main>'
    )


def export(demo: Demo, path: Path) -> None:
    """Write one file that works offline."""
    write_file(path, (recorded_page if demo.python else page)(demo).encode())


def _document(title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{html.escape(title)}</title>\n'
        f'<link rel="icon" href="data:,">\n<style>{static("style.css")}</style>\n'
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
