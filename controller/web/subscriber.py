"""A gateway's agent at the controller: a process of its own, so that no network can hold up packets.

    python -m pacelab.controller.web.subscriber URL NAME      the token in PACELAB_CONTROLLER_TOKEN

stdin:  first what the agent says of itself (`documents.GatewayHello`), then a report each second (`GatewayReport`);
stdout: what is wanted of it, `{"scheme": ..., "limits": {...}}`, when it is first known and whenever it changes.
JSON, an object a line. Ends when stdin does. A controller that is gone is waited for; the agent goes on meanwhile.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from pacelab.controller.web.client import TOKEN, Client

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
