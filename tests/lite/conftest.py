"""The site of `make lite`, served as static files."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SITE = Path(__file__).parents[2] / "build" / "lite"
PLACE = "some/where/pacelab"
"""The site must work under any path."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without log lines."""

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="session")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that is served. It has the site at PLACE."""
    assert (SITE / "index.html").is_file(), "make lite makes the site"
    root = tmp_path_factory.mktemp("web")
    (root / PLACE).parent.mkdir(parents=True)
    (root / PLACE).symlink_to(SITE)
    return root


@pytest.fixture(scope="session")
def address(web: Path) -> Iterator[str]:
    """The address of the site."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(web)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{PLACE}"
    server.shutdown()
    server.server_close()
