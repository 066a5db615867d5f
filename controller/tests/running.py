"""Controllers for tests: one with three switches, called over HTTP, and `pacelab controller` as a process."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import requests
import uvicorn

from controller.tests.fabric import garp, ring, tcp_frame
from pacelab.cli.main import main
from pacelab_controller.core.network import End
from pacelab_controller.openflow.driver import Driver
from pacelab_controller.web import client
from pacelab_controller.web.api import make_api
from pacelab_controller.web.serve import Guard

# Requests to a controller over HTTP.

TOKEN = {"Authorization": "Bearer secret"}
HELLO = {"address": "10.9.0.2", "schemes": ["newreno", "tcp-gap"], "limits": ["pace_rate_bps"], "scheme": "tcp-gap"}
NAMES = {"0000000000000001": "GA", "10.9.0.1": "host"}


class Client:
    """Calls a controller with three switches and two hosts over HTTP."""

    def __init__(self) -> None:
        self.fabric = ring(3).start()
        self.fabric.send(End(1, 1), garp("10.9.0.1", 0x0200_0000_0901))
        self.fabric.send(End(2, 1), garp("10.9.0.2", 0x0200_0000_0902))
        self.fabric.send(End(1, 1), tcp_frame("10.9.0.1", "10.9.0.2", src_mac=0x0200_0000_0901))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.url = f"http://{self.host}"
        driver = Driver(self.fabric.controller, clock=lambda: self.fabric.now_ns)
        application = Guard(make_api(driver, names=NAMES), token="secret", hosts=(self.host,))
        config = uvicorn.Config(application, lifespan="off", log_level="critical", access_log=False, ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        return requests.request(method, self.url + path, json=body, headers=TOKEN, timeout=60)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._listening.close()


# `pacelab controller` as a process, for tests.

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "pacelab_controller"]


def wait_until(condition: Any, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "nothing came in time"
        time.sleep(0.05)


LOADED = ["pacelab_controller.openflow.run", "pacelab_controller.web.api", "pacelab_controller.web.serve"]
"""Imports that take two seconds of CPU time: they are loaded once, and each controller is a fork of that process."""


def _control(arguments: list[str], said: Path) -> None:
    """The process of a controller. Its output goes to a file."""
    with said.open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
    os.environ[client.TOKEN] = "test-token"
    os.chdir(ROOT)
    sys.argv[1:] = arguments
    sys.exit(main(["controller", *arguments]))


class Running:
    """`pacelab controller` as a process, with simulated switches only."""

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
