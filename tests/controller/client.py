"""Who asks a controller over HTTP."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import requests
import uvicorn
from fabric import garp, ring, tcp_frame

from pacelab.controller.core.network import End
from pacelab.controller.openflow.shell import Shell
from pacelab.controller.web.api import make_api
from pacelab.controller.web.serve import Guard

TOKEN = {"Authorization": "Bearer secret"}
HELLO = {"address": "10.9.0.2", "schemes": ["newreno", "tcp-gap"], "limits": ["pace_rate_bps"], "scheme": "tcp-gap"}
NAMES = {"0000000000000001": "GA", "10.9.0.1": "host"}


class Client:
    """Asks a controller with three switches and two hosts, over HTTP."""

    def __init__(self) -> None:
        self.fabric = ring(3).start()
        self.fabric.send(End(1, 1), garp("10.9.0.1", 0x0200_0000_0901))
        self.fabric.send(End(2, 1), garp("10.9.0.2", 0x0200_0000_0902))
        self.fabric.send(End(1, 1), tcp_frame("10.9.0.1", "10.9.0.2", src_mac=0x0200_0000_0901))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.url = f"http://{self.host}"
        shell = Shell(self.fabric.brain, clock=lambda: self.fabric.now_ns)
        application = Guard(make_api(shell, names=NAMES), token="secret", hosts=(self.host,))
        config = uvicorn.Config(application, lifespan="off", log_level="critical", access_log=False, ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        return requests.request(method, self.url + path, json=body, headers=TOKEN, timeout=10)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._listening.close()
