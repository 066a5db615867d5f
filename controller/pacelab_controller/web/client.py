"""An HTTP client for the controller, on a port of this host or a Unix socket, with the standard library only.

    python -m pacelab_controller.web.client URL NAME      the token is in PACELAB_CONTROLLER_TOKEN

connects a gateway's agent to the controller. It is a separate process, so that the network cannot delay packets.

stdin:  first the agent's description (`api.GatewayHello`), then a status each second (`GatewayReport`);
stdout: the policy, `{"scheme": ..., "limits": {...}}`, when it is first known and when it changes.
One JSON object per line. It ends when stdin ends. If the controller stops, it waits for it, and the agent continues.
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

from pacelab.documents import JsonObject

TOKEN = "PACELAB_CONTROLLER_TOKEN"
"""The environment variable with the token, for the controller and its clients."""
TIMEOUT_S = 5.0
STREAM_S = 15.0
"""The stream sends something at least every 5 s."""


class Client:
    """`url`: http://127.0.0.1:PORT or unix:PATH. Raises OSError if the controller does not answer."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status, and the JSON of the answer (None without a body)."""
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
        """Kind and data of each event from now on. Raises OSError when the controller ends."""
        connection = self._connect()
        connection.timeout = STREAM_S
        connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {self._token}"})
        answer = connection.getresponse()
        if answer.status != 200:
            connection.close()
            reason = f"events: status {answer.status}" if answer.status != 401 else f"the token in {TOKEN} is wrong"
            raise OSError(f"{self._url}: {reason}")
        return _read_events(connection, answer)

    def _connect(self) -> http.client.HTTPConnection:
        if self._url.startswith("unix:"):
            return _UnixConnection(self._url.removeprefix("unix:"))
        parts = urlsplit(self._url)
        return http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=TIMEOUT_S)


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
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        """Connect to the path instead of a host and a port."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


# The connection of a gateway's agent.

RETRY_S = 1.0


class Subscriber:
    """Reports one gateway to the controller, and receives its policy."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._hello: JsonObject = {}
        self._printed: JsonObject | None = None
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
                continue  # not accepted yet, or rejected because the name is in use
            try:
                self._client.ask("POST", f"/v1/gateways/{self._name}/status", report)
            except (OSError, ValueError):
                continue  # the listener reports it and reconnects

    def _listen(self) -> None:
        while True:
            try:
                self._receive_events()
            except (OSError, ValueError) as error:
                self._say(False, f"no controller ({error}); the agent continues without it")
            time.sleep(RETRY_S)

    def _receive_events(self) -> None:
        events = self._client.events()
        status, found = self._client.ask("PUT", f"/v1/gateways/{self._name}", self._hello)
        if status != 200:
            raise OSError(str(found.get("detail") if isinstance(found, dict) else status))
        self._say(True, "connected to the controller")
        if (
            found["wanted_scheme"] is not None or found["limits"]
        ):  # otherwise the controller was restarted and has no policy
            self._tell({"scheme": found["wanted_scheme"], "limits": found["limits"]})
        for kind, data in events:
            if kind == "policy" and data["gateway"] == self._name:
                self._tell({"scheme": data["scheme"], "limits": data["limits"]})

    def _tell(self, wanted: JsonObject) -> None:
        if wanted != self._printed:
            self._printed = wanted
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
