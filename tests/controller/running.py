"""`pacelab controller` as a process, for tests."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pacelab.controller.web.client import TOKEN, Client

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "pacelab.controller"]


def wait_until(condition: Any, seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


class Running:
    """`pacelab controller` as a process, with nothing but fake switches."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        rest = folder / "rest.sock"
        listen = ("--listen", f"127.0.0.1:{self.port}", "--socket", str(rest), "--json", "--quiet")
        self.process = subprocess.Popen(
            [*PROGRAM, *listen, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {TOKEN: "test-token"},
        )
        assert self.process.stdout is not None
        assert json.loads(self.process.stdout.readline())["event"] == "ready"
        self.url = f"unix:{rest}"
        self.client = Client(self.url, "test-token")

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
        self.process.wait(10)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
