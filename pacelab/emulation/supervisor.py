"""The root side of a run: PID 1 of its namespaces.

    python -m pacelab.emulation.supervisor FD      FD: a stream socket to the one who wants the run

reads a plan, one line of JSON, and answers in lines of JSON: {"progress": 0.5} now and then, and at last
{"result": {...}} or {"error": {"kind": "config"|"host"|"bug", "message": ...}}. When the other end is closed, it ends
at once, and with PID 1 everything that it has started.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Protocol

from pacelab.documents import JsonObject
from pacelab.emulation.fidelity import judge, judge_medium, read_load, worst
from pacelab.emulation.messages import MediumStatistics, RunReport
from pacelab.emulation.network.tcp import check_control
from pacelab.emulation.plan import MOST_BYTES, Plan, read_plan
from pacelab.emulation.probes import describe
from pacelab.errors import ConfigError, PaceLabError
from pacelab.results.types import Fidelity, Handover

if TYPE_CHECKING:
    from pacelab.emulation.changes import Roaming
    from pacelab.emulation.network.host_network import HostNetwork
    from pacelab.emulation.traffic.traffic import Measured

PROGRESS_S = 0.25
NICENESS = -15
"""Of the traffic's processes, by inheritance: a busy machine must not slow a receiver down."""
MEDIUM_TELLS = ("fidelity", "fidelity_since_start", "lost", "lateness", "process")
"""What host.json has of mediumd's statistics."""
PLAN_S = 10.0
"""A client that has not sent its whole plan by then is not going to."""
READ_S = 30.0
"""A client that has not read its result by then is not going to."""


def main() -> int:
    """Serve one run over the socket whose descriptor is the first argument; the second one's is for a page."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = socket.socket(fileno=int(sys.argv[1]))
    link.set_inheritable(False)
    page_fd = int(sys.argv[2]) if len(sys.argv) > 2 else None
    if page_fd is not None:
        os.set_inheritable(page_fd, False)
    try:
        plan = read_plan(read_line(link))
        threading.Thread(target=exit_on_disconnect, args=(link,), daemon=True).start()
        isolate()
        os.nice(NICENESS)
        last: JsonObject = {"result": perform(plan, link, page_fd)}
    except PaceLabError as error:
        kind = "config" if isinstance(error, ConfigError) else "host"
        last = {"error": {"kind": kind, "message": str(error)}}
    except Exception as error:
        traceback.print_exc()
        last = {"error": {"kind": "bug", "message": f"{type(error).__name__}: {error}"}}
    watch = threading.Timer(READ_S, os._exit, [1])
    watch.daemon = True
    watch.start()
    send_message(link, last)
    return 0


class Link(Protocol):
    """Where the one who wants the run listens."""

    def sendall(self, line: bytes, /) -> None:
        """Send one line."""


def perform(plan: Plan, link: Link, page_fd: int | None = None) -> RunReport:
    """Build the hosts, run the traffic, measure. Imports what that needs: a refused plan costs nothing."""
    from pacelab.emulation.agents.start import start_agents
    from pacelab.emulation.captures import end_captures, start_captures
    from pacelab.emulation.changes import Changes, Roaming
    from pacelab.emulation.network import stock
    from pacelab.emulation.network.sent_rates import SentRates
    from pacelab.emulation.report import air_result, complaints, late_start, unmeasured
    from pacelab.emulation.traffic.traffic import Traffic

    started = time.monotonic()
    network = build(plan, page_fd)
    agents = start_agents(plan, network.switched)
    if network.switched is not None and network.switched.page is not None:
        send_message(link, {"note": f"the controller's page: {network.switched.page}"})
    captures = start_captures(plan)
    traffic, rates = Traffic(plan), SentRates(plan)
    built_s = time.monotonic() - started
    roaming = Roaming(plan, network) if plan.controller is not None else None
    changes = Changes(plan, network.medium, roaming, network.start_walking)
    before: list[MediumStatistics] = []
    load = read_load()
    told = ProgressReporter(link)

    def tick(fraction: float) -> None:
        network.check_alive()
        agents.check_alive()
        changes.apply(fraction * plan.duration_s)
        network.queues.look()
        rates.look()
        told.progress(fraction)

    def begin() -> None:
        before.append(network.medium.statistics())
        network.mark_wires()
        network.queues.mark()
        rates.mark()
        agents.mark()

    measured = traffic.run(tick, begin)
    after = network.medium.statistics()
    network.queues.add_to(after)
    shares = (read_load() - load).shares()
    end_captures(captures)
    wires, hooks = network.wire_report(), agents.end()
    faults = [*network.faults(), *agents.faults]
    wire_late_s = wires.get("lateness_s", {})
    lateness = {"datagrams": measured.datagram_lateness_s, "wires": wire_late_s, "agents": agents.lateness_s}
    kept_up = _kept_up(before[0], after, lateness, stolen=shares["stolen"])
    fidelity = worst(kept_up, "degraded" if faults else "valid", "invalid" if unmeasured(measured) else "valid")
    host = describe() | {"built_s": built_s, "cpu_shares": shares, "wires": network.wires, "lateness_s": lateness}
    host |= {
        "medium": {name: value for name, value in after.items() if name in MEDIUM_TELLS},
        "missing_sysctls": network.missing_sysctls,
    }
    notes = [*([stock.NOTE] if plan.medium == "stock" else []), *complaints(measured), *late_start(measured), *faults]
    host["sockets"] = [{"flow": run.number} | (run.sockets.sender or {}) for run in measured.tcp]
    if plan.rate_control:
        host["rates"] = rates.report()
    if queues := network.queues.statistics():
        host["qdiscs"] = queues
    if (walked := changes.report(after["stations"])) is not None:
        host["walked"] = walked
    handovers = [] if roaming is None else _handovers(plan, measured, roaming)
    notes += map(_sentence, handovers)
    if network.switched is not None:
        host["controller"] = network.switched.describe() | {"handovers": handovers}
    if kept_up != "valid":
        notes.append(f"the machine was too busy for its times to be right: fidelity {fidelity} (host.json says why)")
    wire_drops = wires.get("counters", {}).get("wired-queue", 0)
    air = air_result(
        plan, measured, before=before[0], after=after, hooks=hooks, wire_drops=wire_drops, hook_drops=agents.drops
    )
    return {"air": air, "fidelity": fidelity, "notes": notes, "host": host}


def build(plan: Plan, page_fd: int | None = None, *, at_terminal: bool = False) -> HostNetwork:
    """Build the plan's hosts.

    `page_fd`: a listening socket for a controller's page. `at_terminal`: the builder's command line may be asked for.
    Raises HostError if this kernel cannot do what the plan says.
    """
    check_control(plan)
    if plan.builder == "mininet-wifi":
        from pacelab.emulation.network.mininet_wifi import MininetWifiNetwork

        return MininetWifiNetwork(plan, page_fd, at_terminal=at_terminal)
    from pacelab.emulation.network.plain import PlainNetwork

    return PlainNetwork(plan, page_fd)


class ProgressReporter:
    """Reports the progress of a run, at most every `PROGRESS_S`."""

    def __init__(self, link: Link) -> None:
        self._link, self._told_s = link, 0.0

    def progress(self, fraction: float) -> None:
        """Report this fraction, 0..1. A run does not wait for a client that does not read."""
        if time.monotonic() >= self._told_s + PROGRESS_S and is_writable(self._link):
            self._told_s = time.monotonic()
            send_message(self._link, {"progress": min(1.0, max(0.0, fraction))})


def _kept_up(
    before: MediumStatistics, after: MediumStatistics, lateness: dict[str, dict[str, float]], *, stolen: float
) -> Fidelity:
    """The run's fidelity as far as the machine goes: mediumd's, and how late the others were."""
    late_s = [found["p99"] for found in lateness.values() if found]
    return judge(medium=judge_medium(before, after), late_p99_s=late_s, stolen=stolen)


def _handovers(plan: Plan, measured: Measured, roaming: Roaming) -> list[Handover]:
    """Each one with what it did to the flows."""
    from pacelab.emulation.report import effects

    rows = effects(plan, measured, roaming.handovers)
    found = roaming.report()
    for handover, flows in zip(found, rows, strict=True):
        handover["flows"] = flows
    return found


def _sentence(handover: Handover) -> str:
    from pacelab.emulation.report import sentence

    went = f"{handover['station']} went from {handover['from']} to {handover['to']} at {handover['at_s']} s"
    return went + "".join(f"; {sentence(flow)}" for flow in handover["flows"])


def isolate() -> None:
    """Give the run a /run of its own, where `ip netns` and our sockets are: the host's stays as it is."""
    from pacelab.emulation.namespaces import mount_tmpfs

    mount_tmpfs("/run")
    os.chdir("/")


def read_line(link: socket.socket, *, within_s: float = PLAN_S) -> bytes:
    """One line; ConfigError when it is longer than a plan may be, cut off, or not here in time."""
    text, until_s = b"", time.monotonic() + within_s
    while b"\n" not in text:
        if len(text) > MOST_BYTES:
            raise ConfigError(f"plan must have at most {MOST_BYTES} bytes")
        link.settimeout(max(1e-3, until_s - time.monotonic()))
        try:
            part = link.recv(65_536)
        except TimeoutError:
            raise ConfigError(f"plan: it was not here within {within_s:g} s") from None
        except OSError:
            part = b""
        if not part:
            raise ConfigError("plan: it ends in the middle")
        text += part
    if not text.endswith(b"\n"):
        raise ConfigError("plan: more stands after its line")
    link.settimeout(None)
    return text


def send_message(link: Link, message: JsonObject) -> None:
    """Send one line. The client may have gone."""
    with contextlib.suppress(OSError):
        link.sendall(json.dumps(message, allow_nan=False).encode() + b"\n")


def is_writable(link: Link) -> bool:
    """Whether a line can be sent without blocking. A file is always writable."""
    return not isinstance(link, socket.socket) or bool(select.select([], [link], [], 0)[1])


def exit_on_disconnect(link: socket.socket) -> None:
    """End this process when the client disconnects. A client sends nothing after its plan."""
    with contextlib.suppress(OSError):
        link.recv(1)
    os._exit(1)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # What is open ends with the process. The interpreter would take it apart in an order of its own, in which the event
    # loops of pyroute2 miss their sockets and say so.
    os._exit(code)
