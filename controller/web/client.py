"""Asks a controller over HTTP, on a port of this host or a Unix socket, with nothing but the standard library."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any
from urllib.parse import urlsplit

PATIENCE_S = 5.0


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

    def _connect(self) -> http.client.HTTPConnection:
        if self._url.startswith("unix:"):
            return _UnixConnection(self._url.removeprefix("unix:"))
        parts = urlsplit(self._url)
        return http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=PATIENCE_S)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE_S)
        self._path = path

    def connect(self) -> None:
        """In the place of a name and a port."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(self._path)
