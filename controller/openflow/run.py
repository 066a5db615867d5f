"""Starts os-ken with our application, on native threads; without its command, which os-ken 4 has dropped."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from functools import partial
from typing import Any

# Before os_ken.lib.hub is first imported: it chooses there.
os.environ["OSKEN_HUB_TYPE"] = "native"

from os_ken import cfg
from os_ken.base.app_manager import AppManager
from os_ken.controller import ofp_handler
from os_ken.lib import hub

from pacelab.controller.openflow import convert
from pacelab.controller.openflow.connection import Connections
from pacelab.controller.openflow.shell import Shell

REAP_S = 1.0


def start(shell: Shell, *, host: str, port: int) -> None:
    """Listen for switches, at once, and serve them, in threads that end with the process. Raises OSError."""
    listening = socket.create_server((host, port))
    for name in ("os_ken.controller.controller", "os_ken.lib.hub", "OFPHandler"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # the journal has it
    cfg.CONF(args=[], project="pacelab", default_config_files=[], default_config_dirs=[])
    connections = Connections(lambda address, reason: _trouble(shell, address, reason))
    # os-ken's own would bind in its thread, some time after this, and only log what fails there.
    ofp_handler.OpenFlowController = lambda: partial(_accept, listening, connections)
    convert.read_entries_lightly()
    manager = AppManager.get_instance()
    manager.load_apps(["pacelab.controller.openflow.app"])
    manager.instantiate_apps(shell=shell)
    threading.Thread(target=_tick, args=(shell, connections), daemon=True, name="clock").start()


def _accept(listening: socket.socket, connections: Connections) -> None:
    while True:
        hub.spawn(connections.serve, *listening.accept())


def _tick(shell: Shell, connections: Connections) -> None:
    reaped_s = 0.0
    while True:
        time.sleep(shell.tick())
        if time.monotonic() - reaped_s > REAP_S:
            reaped_s = time.monotonic()
            connections.reap()


def _trouble(shell: Shell, address: Any, reason: str) -> None:
    def note(brain: Any, now_ns: int) -> None:
        brain.counters["connections cut off"] += 1
        brain.journal.note(now_ns, "switch-refused", address=str(address), reason=reason[:200])

    shell.ask(note)
