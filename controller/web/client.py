"""Asks a controller over HTTP, on a port of this host or a Unix socket, with nothing but the standard library."""

from __future__ import annotations

import http.client
import json
import socket
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
