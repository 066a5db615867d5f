"""Asks a controller over HTTP, on a port of this host or a Unix socket, with nothing but the standard library.

    python -m pacelab_controller.web.client URL NAME      the token in PACELAB_CONTROLLER_TOKEN

is a gateway's agent at the controller: a process of its own, so that no network can hold up packets.

stdin:  first what the agent says of itself (`api.GatewayHello`), then a report each second (`GatewayReport`);
stdout: what is wanted of it, `{"scheme": ..., "limits": {...}}`, when it is first known and whenever it changes.
JSON, an object a line. Ends when stdin does. A controller that is gone is waited for; the agent goes on meanwhile.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

TOKEN = "PACELAB_CONTROLLER_TOKEN"
"""In the environment of a controller and of whoever asks it: the token that it wants to see."""
PATIENCE_S = 5.0
STREAM_S = 15.0
"""The stream says at least every 5 s that it is there."""


class Client:
    """`url`: http://127.0.0.1:PORT or unix:PATH. Raises OSError when nobody answers."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status, and the answer's JSON (None if it has none)."""
        connection = self._connect()
        try:
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            text = None if body is None else json.dumps(body)
            connection.request(method, path, body=text, headers=headers)
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if content else None
        except http.client.HTTPException as error:
            raise OSError(f"{self._url}: {type(error).__name__}") from None
        finally:
            connection.close()

    def events(self) -> Iterator[tuple[str, Any]]:
        """Kind and data of each event from now on; ends with OSError when the controller does."""
        connection = self._connect()
        connection.timeout = STREAM_S
        connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {self._token}"})
        answer = connection.getresponse()
        if answer.status != 200:
            connection.close()
            reason = (
                f"events: status {answer.status}" if answer.status != 401 else f"it takes another token than {TOKEN}"
            )
            raise OSError(f"{self._url}: {reason}")
        return _read_events(connection, answer)

    def _connect(self) -> http.client.HTTPConnection:
        if self._url.startswith("unix:"):
            return _UnixConnection(self._url.removeprefix("unix:"))
        parts = urlsplit(self._url)
        return http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=PATIENCE_S)


def _read_events(connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    kind = ""
    try:
        while line := answer.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                yield kind, json.loads(value)
    except http.client.HTTPException as error:
        raise OSError(f"events: {type(error).__name__}") from None
    finally:
        connection.close()
    raise OSError("events: the stream has ended")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self._path = path

    def connect(self) -> None:
        """In the place of a name and a port."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


# A gateway's agent at the controller.

AGAIN_S = 1.0


class Subscriber:
    """Tells the controller of one gateway, and hears of its policy."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._hello: dict[str, Any] = {}
        self._told: dict[str, Any] | None = None
        self._reachable: bool | None = None

    def run(self) -> None:
        """Until stdin ends."""
        first = sys.stdin.readline()
        if not first:
            return
        self._hello = json.loads(first)
        threading.Thread(target=self._listen, daemon=True).start()
        for line in sys.stdin:
            report = json.loads(line)
            self._hello["scheme"] = report["scheme"]
            if not self._reachable:
                continue  # not taken yet, or refused: another one may have the name
            try:
                self._client.ask("POST", f"/v1/gateways/{self._name}/status", report)
            except (OSError, ValueError):
                continue  # the listener says so, and comes back

    def _listen(self) -> None:
        while True:
            try:
                self._follow()
            except (OSError, ValueError) as error:
                self._say(False, f"not led by a controller ({error}): going on without it")
            time.sleep(AGAIN_S)

    def _follow(self) -> None:
        events = self._client.events()
        status, found = self._client.ask("PUT", f"/v1/gateways/{self._name}", self._hello)
        if status != 200:
            raise OSError(str(found.get("detail") if isinstance(found, dict) else status))
        self._say(True, "the controller is there")
        if found["wanted_scheme"] is not None or found["limits"]:  # else it has started anew, and knows of no wish
            self._tell({"scheme": found["wanted_scheme"], "limits": found["limits"]})
        for kind, data in events:
            if kind == "policy" and data["gateway"] == self._name:
                self._tell({"scheme": data["scheme"], "limits": data["limits"]})

    def _tell(self, wanted: dict[str, Any]) -> None:
        if wanted != self._told:
            self._told = wanted
            print(json.dumps(wanted), flush=True)

    def _say(self, reachable: bool, line: str) -> None:
        if reachable != self._reachable and not (reachable and self._reachable is None):
            print(f"pacelab: {line}", file=sys.stderr, flush=True)
        self._reachable = reachable


def main() -> int:
    """Run until stdin ends."""
    url, name = sys.argv[1:]
    Subscriber(Client(url, os.environ.get(TOKEN, "")), name).run()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
