"""The page of one demonstration: a single file with the component and the engine, which loads nothing else."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from importlib import resources
from pathlib import Path
from string import Template

from pacelab.demo.model import Demo
from pacelab.demo.runs import recorded_runs
from pacelab.documents import JsonObject
from pacelab.errors import HostError
from pacelab.results.folder import write_file

MODULES = ("engine.js", "air.js", "view.js", "scene.js", "timeline.js", "curves.js", "demo.js")
"""The component's modules. Each module comes after the modules that it imports."""
START = "start_demo.js"
"""The module that starts the component in a page."""
ENGINE = "engine.wasm"
IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)


def static(name: str) -> str:
    """The text of one of the component's files."""
    return resources.files("pacelab.demo").joinpath("static", name).read_text("utf-8")


def engine_bytes() -> bytes:
    """The engine's WebAssembly module. Raises HostError if this installation has none."""
    file = resources.files("pacelab.demo").joinpath("static", ENGINE)
    if not file.is_file():
        raise HostError(
            "demo: this installation lacks the engine's WebAssembly module; run `make demo` in the source tree, which "
            "builds it or prints what to install"
        )
    return file.read_bytes()


def engine_text() -> str:
    """The module compressed, as text within a page."""
    return compressed_text(engine_bytes())


def compressed_text(content: bytes) -> str:
    """The content compressed, as text within a page."""
    return base64.b64encode(gzip.compress(content, mtime=0)).decode("ascii")


def bundle(*more: str) -> str:
    """The component's modules, then `more` modules, as one script."""
    return script(*MODULES, *more)


def script(*names: str) -> str:
    """The modules `names` as one script: in this order, without their imports and exports."""
    parts = [re.sub(r"^export ", "", IMPORT.sub("", static(name)), flags=re.MULTILINE) for name in names]
    return "\n".join(parts)


def page(demo: Demo) -> str:
    """The page of a demonstration. It holds the engine, unless the schemes are in Python: the server runs those."""
    backing = {} if demo.python else {"engine": engine_text()}
    return _page(demo.document(), backing)


def recorded_page(demo: Demo) -> str:
    """The page of a Python demonstration with the results of all its settings, for use without the server."""
    return _page(demo.document(), {"recorded": list(recorded_runs(demo))})


def live_page(document: JsonObject) -> str:
    """The page that follows a running network. `document` is `Live.document`."""
    return _page(document, {})


def _page(document: JsonObject, backing: JsonObject) -> str:
    return data_page(document["title"], {"demo": document, **backing}, bundle(START))


def data_page(title: str, data: JsonObject, script: str) -> str:
    """A page with `data` as JSON in the element "demo", for its `script`."""
    # In JSON, "<" could end the script element ("</") or hide its end ("<!--").
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    return html_page(title, Template(static("app.html")).substitute(data=text, script=script))


def export(demo: Demo, path: Path) -> None:
    """Write the demonstration as one file that works offline."""
    write_file(path, (recorded_page if demo.python else page)(demo).encode())


def html_page(title: str, body: str) -> str:
    """A page with the component's style."""
    template = Template(static("page.html"))
    return template.substitute(title=html.escape(title), style=static("style.css"), body=body)
