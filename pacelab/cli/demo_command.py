"""`pacelab demo`: a demonstration, any network in the editor, or a running network."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any

from pacelab.cli.options import with_experiment_options
from pacelab.console import log
from pacelab.demo.catalog import DEMOS
from pacelab.demo.editor import NEW, EditorSession, export_editor, open_editor
from pacelab.demo.live import Live
from pacelab.demo.model import Demo, flag_of
from pacelab.demo.page import engine_bytes, export
from pacelab.demo.problems import PROBLEMS
from pacelab.demo.server import DemoServer
from pacelab.domains import like_which
from pacelab.errors import ConfigError
from pacelab.experiment.from_text import parse_names
from pacelab.parameters import Argument, Option
from pacelab_topologies.registry import KINDS


@with_experiment_options
def demo(
    name: Annotated[
        str | None,
        Argument(
            help=f"A demonstration ({', '.join(DEMOS)}), new (draw a network), a design problem "
            f"({', '.join(PROBLEMS)}), a topology's name, or a .yaml or .py file. Without a name, a page links to "
            "the demonstrations, the problems and new."
        ),
    ] = None,
    *,
    scheme: Annotated[
        str | None,
        Option("--scheme", metavar="A,B", help="Schemes side by side on a network [newreno]; one for a demonstration."),
    ] = None,
    export_to: Annotated[
        Path | None,
        Option("--export", metavar="FILE", help="Write one self-contained .html file, or a .gif for slides."),
    ] = None,
    live: Annotated[
        str | None,
        Option("--live", metavar="SOCKET", help="Follow a running network through mediumd's socket."),
    ] = None,
    port: Annotated[int, Option("--port", limits=(0, 65_535), help="Port on 127.0.0.1; 0 takes any free port.")] = 0,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open a browser.")] = True,
    **values: Any,
) -> None:
    """Show wireless networks live in a browser. Drag nodes or move sliders, and the simulation runs again."""
    given = {option: value for option, value in values.items() if value is not None}
    if name is None and (given or scheme is not None or export_to is not None):
        first = flag_of(next(iter(given), "scheme" if scheme is not None else "export"))
        raise ConfigError(f"demo: {first} needs a network; name one, as in `pacelab demo chain {first} ...`")
    if live is not None:
        if name is not None:
            raise ConfigError(f"demo {name} --live {live}: give either a name or --live, not both")
        _serve(DemoServer(port, live=Live(live)), "live", browser=browser)
    elif name is None:
        engine_bytes()  # raises before the link is printed if there is no engine
        _serve(DemoServer(port), None, browser=browser)
    elif name in DEMOS and not (name in KINDS and scheme is not None):  # both: with --scheme, the topology
        chosen = DEMOS[name].starting_at(given | ({} if scheme is None else {"scheme": scheme}))
        if export_to is not None:
            _export(chosen, export_to)
            return
        engine_bytes()
        _serve(DemoServer(port, demos={**DEMOS, name: chosen}), name, browser=browser)
    else:
        _check_network(name)
        engine_bytes()
        editor = open_editor(name, parse_names("--scheme", scheme or "newreno"), given)
        if export_to is not None:
            _export_editor(editor, export_to)
            return
        _serve(DemoServer(port, editor=editor), "editor", browser=browser)


def _serve(server: DemoServer, name: str | None, *, browser: bool) -> None:
    """Print the link of a page, open a browser and answer until Ctrl-C."""
    with server:
        link = server.link(name)
        print(link, flush=True)
        log("press Ctrl-C to stop")
        if browser and not webbrowser.open(link):
            log("no browser could be opened; open the link above in a browser")
        server.serve_forever()


def _known() -> str:
    return f"one of {', '.join(dict.fromkeys((*DEMOS, NEW, *PROBLEMS, *KINDS)))}, or the path of a .yaml or .py file"


def _check_network(name: str) -> None:
    """Refuse a name that is neither a topology nor a file, with a message that mentions the demonstrations."""
    if name in (NEW, *PROBLEMS, *KINDS) or Path(name).suffix:
        return
    raise ConfigError(f"demo must be {_known()}, not {name!r}{like_which(name, (*DEMOS, NEW, *PROBLEMS, *KINDS))}")


def _export_editor(editor: EditorSession, path: Path) -> None:
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"demo --export must be a file name that ends in .html, not {path}")
    export_editor(editor, path)
    log(f"wrote {path}, which opens in any browser, also offline")


def _export(chosen: Demo, path: Path) -> None:
    if path.suffix.lower() == ".gif":
        from pacelab.demo.animation import export_gif
        from pacelab.figures.figures import require_matplotlib

        require_matplotlib()
        export_gif(chosen, path)
        log(f"wrote {path}, an animation for slides")
    elif path.suffix.lower() in (".html", ".htm"):
        export(chosen, path)
        log(f"wrote {path}, which opens in any browser, also offline")
    else:
        raise ConfigError(f"demo --export must be a file name that ends in .html or .gif, not {path}")
