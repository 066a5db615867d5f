"""Starts os-ken with our application, on native threads; without its command, which os-ken 4 has dropped."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any

# Before os_ken.lib.hub is first imported: it chooses there.
os.environ["OSKEN_HUB_TYPE"] = "native"

from os_ken import cfg
from os_ken.base.app_manager import AppManager
from os_ken.controller import controller as os_ken_controller

from pacelab.controller.openflow import convert
from pacelab.controller.openflow.connection import Connections
from pacelab.controller.openflow.shell import Shell

LOOPBACK = "127.0.0.1"
REAP_S = 1.0


def start(shell: Shell, *, host: str, port: int) -> None:
    """Listen for switches and serve them, in threads that end with the process. Raises OSError."""
    for name in ("os_ken.controller.controller", "os_ken.lib.hub", "OFPHandler"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # the journal has it
    cfg.CONF(args=[], project="pacelab", default_config_files=[], default_config_dirs=[])
    cfg.CONF.set_override("ofp_listen_host", host)
    cfg.CONF.set_override("ofp_tcp_listen_port", port)
    connections = Connections(lambda address, reason: _trouble(shell, address, reason))
    os_ken_controller.datapath_connection_factory = connections.serve
    convert.read_entries_lightly()
    manager = AppManager.get_instance()
    manager.load_apps(["pacelab.controller.openflow.app"])
    manager.instantiate_apps(shell=shell)
    threading.Thread(target=_tick, args=(shell, connections), daemon=True, name="clock").start()


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
