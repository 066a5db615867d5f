"""`pacelab controller` as a process, for tests."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import typer

from pacelab.controller.commands import controller
from pacelab.controller.web import client

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "pacelab.controller"]


def wait_until(condition: Any, seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


LOADED = ["pacelab.controller.openflow.run", "pacelab.controller.web.api", "pacelab.controller.web.serve"]
"""What takes a controller two seconds of CPU: it is loaded once, and each is a fork of the process that has it."""


def _control(arguments: list[str], said: Path) -> None:
    """The process: what it says goes into a file."""
    with said.open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
    os.environ[client.TOKEN] = "test-token"
    os.chdir(ROOT)
    sys.argv[1:] = arguments
    typer.run(controller)


class Running:
    """`pacelab controller` as a process, with nothing but fake switches."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        rest, said = folder / "rest.sock", folder / "said.jsonl"
        said.unlink(missing_ok=True)
        listen = ["--listen", f"127.0.0.1:{self.port}", "--socket", str(rest), "--json", "--quiet"]
        forks = multiprocessing.get_context("forkserver")
        forks.set_forkserver_preload(LOADED)
        self.process = forks.Process(target=_control, args=([*listen, *arguments], said))
        self.process.start()
        wait_until(lambda: said.exists() and said.read_text(encoding="utf-8").endswith("\n"), 60)
        assert json.loads(said.read_text(encoding="utf-8"))["event"] == "ready"
        self.url = f"unix:{rest}"
        self.client = client.Client(self.url, "test-token")

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 5)

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def counters(self) -> dict[str, int]:
        found: dict[str, int] = self.client.ask("GET", "/v1/topology")[1]["counters"]
        return found

    def switches(self) -> list[str]:
        return [switch["id"] for switch in self.client.ask("GET", "/v1/topology")[1]["switches"]]

    def close(self) -> None:
        self.process.terminate()
        self.process.join(10)
        assert not self.process.is_alive()
