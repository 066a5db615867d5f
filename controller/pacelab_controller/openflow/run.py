"""The os-ken application, with one handler for each kind of message, and its start on native threads.

os-ken 4 has no command to start an application, so this module starts it.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from functools import partial
from typing import Any

# os_ken.lib.hub reads this when it is first imported.
os.environ["OSKEN_HUB_TYPE"] = "native"

from os_ken import cfg
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller import ofp_event, ofp_handler
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.ofproto import ofproto_v1_3 as ofp

from pacelab_controller.core.messages import (
    BarrierDone,
    BaseRuleGone,
    Counted,
    PacketIn,
    PortChanged,
    Refused,
    RuleGone,
    RulesFound,
)
from pacelab_controller.openflow import convert
from pacelab_controller.openflow.driver import COUNTERS, RULES, Connection, Connections, Driver

REAP_S = 1.0


def start(driver: Driver, *, host: str, port: int) -> None:
    """Listen for switches and serve them, in threads that end with the process. Raises OSError."""
    listening = socket.create_server((host, port))
    for name in ("os_ken.controller.controller", "os_ken.lib.hub", "OFPHandler"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # the journal reports it
    cfg.CONF(args=[], project="pacelab", default_config_files=[], default_config_dirs=[])
    connections = Connections(lambda address, reason: _trouble(driver, address, reason))
    # os-ken would bind later, in a thread, and only log a failure.
    ofp_handler.OpenFlowController = lambda: partial(_accept, listening, connections)
    convert.read_entries_lightly()
    manager = AppManager.get_instance()
    manager.load_apps([__name__])
    manager.instantiate_apps(driver=driver)
    threading.Thread(target=_tick, args=(driver, connections), daemon=True, name="clock").start()


def _accept(listening: socket.socket, connections: Connections) -> None:
    while True:
        hub.spawn(connections.serve, *listening.accept())


def _tick(driver: Driver, connections: Connections) -> None:
    reaped_s = 0.0
    while True:
        time.sleep(driver.tick())
        if time.monotonic() - reaped_s > REAP_S:
            reaped_s = time.monotonic()
            connections.reap()


def _trouble(driver: Driver, address: Any, reason: str) -> None:
    def note(controller: Any, now_ns: int) -> None:
        controller.counters["connections cut off"] += 1
        controller.journal.note(now_ns, "switch-refused", address=str(address), reason=reason[:200])

    driver.ask(note)


class WiredSide(OSKenApp):  # type: ignore[misc]
    """Passes the switches' messages to the controller."""

    OFP_VERSIONS = [ofp.OFP_VERSION]  # noqa: RUF012 - the form that os-ken reads

    def __init__(self, *arguments: Any, driver: Driver, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.driver = driver

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])  # type: ignore[untyped-decorator]
    def state_changed(self, event: Any) -> None:
        """A switch has connected or disconnected."""
        if event.state == MAIN_DISPATCHER:
            self.driver.joined(event.datapath)
        else:
            self.driver.left(event.datapath)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def packet_in(self, event: Any) -> None:
        """A frame."""
        message = event.msg
        if self.driver.is_current(message.datapath):
            copy = message.reason == ofp.OFPR_ACTION and message.cookie != 0
            self.driver.feed(PacketIn(message.datapath.id, message.match["in_port"], bytes(message.data), copy))

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def port_status(self, event: Any) -> None:
        """A port has changed."""
        message = event.msg
        if self.driver.is_current(message.datapath):
            gone = message.reason == ofp.OFPPR_DELETE
            self.driver.feed(PortChanged(message.datapath.id, convert.to_port(message.desc), gone))

    @set_ev_cls(ofp_event.EventOFPFlowRemoved, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def flow_removed(self, event: Any) -> None:
        """A rule has expired, or a base rule was removed."""
        message = event.msg
        if not self.driver.is_current(message.datapath):
            return
        if message.reason == ofp.OFPRR_DELETE and message.priority in convert.BASE:
            self.driver.feed(BaseRuleGone(message.datapath.id))
        elif message.reason == ofp.OFPRR_IDLE_TIMEOUT:
            self.driver.feed(RuleGone(message.datapath.id, message.cookie, message.packet_count, message.byte_count))

    @set_ev_cls(ofp_event.EventOFPFlowStatsReply, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def flow_stats(self, event: Any) -> None:
        """Counters or rules; an answer may consist of several messages."""
        message = event.msg
        connection: Connection = message.datapath
        if message.xid not in connection.asked:
            return
        connection.parts += message.body
        if message.flags & ofp.OFPMPF_REPLY_MORE:
            return
        what, entries, connection.parts = connection.asked.pop(message.xid), connection.parts, []
        if not self.driver.is_current(connection):
            return
        if what == COUNTERS:
            self.driver.feed(Counted(connection.id, tuple(entry.counted() for entry in entries)))
        elif what == RULES:
            found = (convert.found_rule(entry.whole()) for entry in entries)
            self.driver.feed(RulesFound(connection.id, tuple(rule for rule in found if rule is not None)))

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def barrier(self, event: Any) -> None:
        """The switch has processed everything before the barrier."""
        connection: Connection = event.msg.datapath
        number = connection.asked.pop(event.msg.xid, None)
        if number is not None and number.isdecimal():
            self.driver.feed(BarrierDone(connection.id, int(number)))

    @set_ev_cls(ofp_event.EventOFPErrorMsg, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def error(self, event: Any) -> None:
        """A switch refused something."""
        message = event.msg
        connection: Connection = message.datapath
        connection.asked.pop(message.xid, None)
        if self.driver.is_current(connection):
            self.driver.feed(Refused(connection.id, f"OpenFlow error {message.type}, {message.code}"))
