"""One hook on one host, as a process: `pacelab gateway`, `sender`, `relay` and `station`.

    gateway    FORWARD      wired -> air, air -> wired      WIRED_TO_AIR, AIR_TO_WIRED
    sender     OUTPUT       host -> air                     LOCAL_OUT
    station    INPUT        air -> host                     LOCAL_IN
    relay      POSTROUTING  anything -> air                 LINK

Invariants
1. The steps of the start are undone if the start fails half-way, and at the end: first the rules, then the held
   packets, then the queues.
2. After kill -9 the rules stay and let all packets pass (--queue-bypass); the next start removes them. While the agent
   hangs, `watchdog` removes them.
3. A hook that fails and a link layer that ends are reported once; packets continue.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Protocol

from pacelab.units import NS_PER_S
from pacelab_pacer.core.contract import EventMask, Hook, Point
from pacelab_pacer.linux import kernel_pacing
from pacelab_pacer.linux.diagnostics import TrafficWatch
from pacelab_pacer.linux.driver import HookDriver
from pacelab_pacer.linux.host import AgentError, check_permitted, check_wired, mtu_of
from pacelab_pacer.linux.link_layer import KernelLink, MediumdLink
from pacelab_pacer.linux.nfqueue import NfQueue, Queued
from pacelab_pacer.linux.paths import PathTable
from pacelab_pacer.linux.real_time import be_punctual
from pacelab_pacer.linux.rules import Capture, Rules
from pacelab_pacer.linux.status import STATUS_VERSION, FlowMonitor, Line, Ready, Stalled, Status
from pacelab_pacer.linux.stop_signal import StopSignal
from pacelab_pacer.linux.watchdog import Watchdog
from pacelab_pacer.linux.write import RawSender

TICK_NS = NS_PER_S
NEVER_NS = 1 << 63
BEGIN = signal.SIGUSR1
"""The measured part of a run starts: the algorithm's drops count from now on."""
LEFT_BEHIND = "removed what a killed agent left behind: {}"
_COLLECT_TICKS = 30
_LATENESS_KEPT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """The place of an agent. Its queues are `first_queue` and the numbers after it, unless chosen otherwise."""

    name: str
    first_queue: int
    mark: int
    """Bit of the packet mark on packets sent by this agent."""
    taps: tuple[tuple[Point, str], ...]
    """Points with their netfilter hooks, one queue each."""
    paces: bool = False
    """Its algorithms delay packets to protect the air: a packet is dropped if the kernel's queue is full. With other
    roles, such a packet passes without the algorithm."""


ROLES = {
    role.name: role
    for role in (
        Role(
            name="gateway",
            first_queue=20_480,
            mark=1 << 24,
            taps=((Point.WIRED_TO_AIR, "FORWARD"), (Point.AIR_TO_WIRED, "FORWARD")),
            paces=True,
        ),
        Role(
            name="sender",
            first_queue=20_490,
            mark=1 << 25,
            taps=((Point.LOCAL_OUT, "OUTPUT"), (Point.LOCAL_IN, "INPUT")),
            paces=True,
        ),
        Role(name="relay", first_queue=20_500, mark=1 << 26, taps=((Point.LINK, "POSTROUTING"),)),
        Role(
            name="station",
            first_queue=20_510,
            mark=1 << 27,
            taps=((Point.LOCAL_OUT, "OUTPUT"), (Point.LOCAL_IN, "INPUT")),
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """Settings of one agent."""

    role: Role
    scheme: str
    """Its name, for status reports only."""
    air: str
    wired: str | None = None
    """The wired interface of a gateway."""
    first_queue: int | None = None
    paths: PathTable = field(default_factory=PathTable)
    mediumd: str | None = None
    """Path of mediumd's socket, for hooks that need transmit results or set a backoff, unless `kernel_counts`."""
    station: str | None = None
    """This node's name in mediumd."""
    kernel_counts: bool = False
    """Transmit results are the kernel's counts for each neighbour, not for single packets (see `link_layer`)."""
    clamp_mss: bool = False
    realtime: bool = True
    seconds: float | None = None
    """When to end; None: at a signal."""


class ControllerLink(Protocol):
    """A controller's link, by which it may change the algorithm while the agent runs."""

    closed: bool
    """No more orders will arrive."""

    def fileno(self) -> int:
        """The descriptor is readable if there is an order."""

    def receive(self) -> list[tuple[str, Hook]]:
        """Names of schemes, for status reports, and their hooks."""

    def accepted(self, scheme: str) -> None:
        """Report that the scheme is active."""

    def refuse(self, reason: str) -> None:
        """Report that the scheme is not active, and why."""


class Agent:
    """Runs a hook on this host's packets until SIGTERM or SIGINT."""

    def __init__(
        self,
        config: AgentConfig,
        hook: Hook,
        *,
        say: Callable[[str], None],
        on_status: Callable[[Line], None],
        controller: ControllerLink | None = None,
    ) -> None:
        """`say` takes lines for the user, `on_status` a JSON document when ready, each second and at the end."""
        self._config = config
        self._scheme = config.scheme
        self._controller = controller
        self._say = say
        self._on_status = on_status
        self._hook = hook
        self._monitor = FlowMonitor()
        self._traffic = TrafficWatch(config.air, config.wired, paths_known=bool(config.paths), say=say)
        self._lateness_ns: deque[int] = deque(maxlen=_LATENESS_KEPT)
        self._said: set[str] = set()
        self._started_ns = time.monotonic_ns()
        self._backoff_lost = 0

    # What the driver needs from the kernel.

    def accept(self, packet: Queued, changed: bytes | bytearray | None = None) -> None:
        """Let a packet pass."""
        self._queue.accept(packet, changed)

    def drop(self, packet: Queued) -> None:
        """Discard a packet."""
        self._queue.drop(packet)

    def send(self, data: bytes | bytearray) -> bool:
        """Send a packet that the algorithm has made."""
        return self._raw.send(data)

    def set_extra_backoff(self, slots: int, wall_clock: bool) -> bool:
        """Send the request to mediumd."""
        done = self._link is not None and self._link.set_extra_backoff(slots, wall_clock)
        self._backoff_lost += not done
        return done

    # The life of the process.

    def run(self) -> None:
        """Start, serve, end. Raises AgentError when it cannot start."""
        with ExitStack() as undo:
            stop = StopSignal()
            undo.callback(stop.close)
            self._start(undo)
            punctual = self._config.realtime and be_punctual()
            self._on_status(self._ready(punctual))
            try:
                self._serve(stop)
            finally:
                self._end()
        self._on_status(self._status(time.monotonic_ns(), final=True))

    def _start(self, undo: ExitStack) -> None:
        config, role = self._config, self._config.role
        check_permitted()
        mtu = mtu_of(config.air)
        check_wired(config.wired)
        first = role.first_queue if config.first_queue is None else config.first_queue
        self._points = {first + index: point for index, (point, _hook) in enumerate(role.taps)}
        self._rules = Rules(tuple(self._captures(first)), own_mark=role.mark)
        self._watchdog = Watchdog(self._rules, punctual=config.realtime, on_release=self._say_released)
        undo.callback(self._watchdog.close)
        self._link: MediumdLink | KernelLink | None = None
        if self._hook.event_mask & EventMask.TRANSMIT and config.kernel_counts:
            self._link = KernelLink(config.air)
            undo.callback(self._link.close)
        elif self._hook.event_mask & EventMask.TRANSMIT:
            if config.mediumd is None or config.station is None:
                raise AgentError(
                    f"scheme {config.scheme!r} needs the link layer's transmit results: give --mediumd SOCKET and "
                    "--station NAME"
                )
            self._link = MediumdLink(config.mediumd, config.station)
            undo.callback(self._link.close)
        self._raw = RawSender(role.mark)
        undo.callback(self._raw.close)
        self._queue = NfQueue(tuple(self._points), fail_open=not role.paces)
        undo.callback(self._queue.close)
        self._driver = HookDriver(
            self._hook,
            self,
            paths=config.paths,
            mtu_bytes=mtu,
            clamp=config.clamp_mss,
            monitor=self._monitor,
            traffic=self._traffic,
        )
        undo.callback(signal.signal, BEGIN, signal.signal(BEGIN, lambda *_: self._driver.dropped.clear()))
        undo.callback(self._rules.remove)
        if removed := [*self._rules.install(), *kernel_pacing.remove_stale()]:
            self._say(LEFT_BEHIND.format(", ".join(removed)))
        self._traffic.look_at_interfaces()

    def _captures(self, first: int) -> list[Capture]:
        air, wired = self._config.air, self._config.wired
        found = []
        for index, (point, hook) in enumerate(self._config.role.taps):
            inward = point in (Point.AIR_TO_WIRED, Point.LOCAL_IN)
            source, destination = (air, wired) if inward else (wired, air)
            found.append(Capture(hook=hook, queue=first + index, in_interface=source, out_interface=destination))
        return found

    def _serve(self, stop: StopSignal) -> None:
        queue, driver, clock, points = self._queue, self._driver, time.monotonic_ns, self._points
        queue_fd = queue.fileno()
        link_fd = self._link.fileno() if isinstance(self._link, MediumdLink) else -1
        controller_fd = -1 if self._controller is None else self._controller.fileno()
        watched = [queue_fd, stop.fileno(), *(fd for fd in (link_fd, controller_fd) if fd >= 0)]
        end_ns = None if self._config.seconds is None else clock() + round(self._config.seconds * NS_PER_S)
        tick_ns, ticks = clock() + TICK_NS, 0
        while not stop.given:
            wanted_ns = driver.deadline_ns()
            now_ns = clock()
            beat_ns = self._watchdog.beat(now_ns, queue_fd)
            until_ns = min(tick_ns, beat_ns, self._counts_ns(), tick_ns if wanted_ns is None else wanted_ns)
            timeout_s = max(0.0, (until_ns - now_ns) / NS_PER_S)
            ready = select.select(watched, (), (), timeout_s)[0]
            now_ns = clock()
            if stop.fileno() in ready:
                stop.drain()
            if wanted_ns is not None and wanted_ns <= now_ns:
                self._lateness_ns.append(now_ns - wanted_ns)
                driver.timeout(now_ns)
                queue.flush()
            if queue_fd in ready:
                for packet in queue.receive():
                    driver.see(clock(), points[packet.queue], packet)
                queue.flush()
            if link_fd in ready or now_ns >= self._counts_ns():
                self._hear_link(watched, link_fd)
            if controller_fd in ready:
                self._hear_controller(watched, controller_fd)
            if now_ns >= tick_ns:
                tick_ns, ticks = max(tick_ns + TICK_NS, now_ns), ticks + 1
                self._tick(now_ns, ticks)
                if end_ns is not None and now_ns >= end_ns:
                    return

    def _hear_controller(self, watched: list[int], controller_fd: int) -> None:
        controller = self._controller
        assert controller is not None
        for scheme, hook in controller.receive():
            if hook.event_mask & EventMask.TRANSMIT and self._link is None:
                controller.refuse(f"scheme {scheme} needs the link layer's results, and this agent was started without")
                continue
            self._driver.change_hook(hook)
            self._queue.flush()
            self._hook, self._scheme = hook, scheme
            controller.accepted(scheme)
            self._say(f"the controller has set scheme {scheme}")
        if controller.closed:
            watched.remove(controller_fd)
            self._once("no more orders from the controller: the connection has ended")

    def _hear_link(self, watched: list[int], link_fd: int) -> None:
        assert self._link is not None
        for name, result in self._link.receive():
            self._driver.transmitted(time.monotonic_ns(), name, result)
        self._queue.flush()
        if self._link.closed and link_fd in watched:
            watched.remove(link_fd)

    def _counts_ns(self) -> int:
        """When to read the kernel's counters again."""
        link = self._link
        return link.due_ns if isinstance(link, KernelLink) and not link.closed else NEVER_NS

    def _end(self) -> None:
        """Accept no more packets, and let those that are here pass."""
        self._watchdog.close()
        self._rules.remove()
        self._driver.let_go()
        while rest := self._queue.receive():
            for packet in rest:
                self._queue.accept(packet)
        self._queue.flush()

    def _tick(self, now_ns: int, ticks: int) -> None:
        self._on_status(self._status(now_ns))
        driver = self._driver
        with suppress(AgentError):  # the interface is missing, which `look_at_interfaces` reports
            driver.fit(mtu_of(self._config.air))
        if driver.failure is not None:
            self._once(f"the algorithm failed and is bypassed ({driver.failure}): packets pass unpaced")
        counters = driver.counters()
        if counters.get("unpaced_flows", 0) or counters.get("unpaced_segments", 0):
            self._once("some packets pass unpaced: see the hook's counters")
        if counters.get("overflows", 0):
            self._once("the pacing queue is full: it drops what it has no room for, as a router's queue does")
        if self._queue.overruns or self._queue.lost():
            fate = "were dropped" if self._config.role.paces else "passed unseen"
            self._once(f"packets arrived faster than the agent could read them: some {fate}")
        if self._link is not None and self._link.closed:
            self._once("the link layer has ended: no more transmit results, no extra backoff")
        if self._watchdog.released:
            self._once("the agent hung for a while, and packets passed unseen meanwhile")
        if self._watchdog.taken:
            self._once(f"somebody removed the firewall rules ({self._watchdog.taken} times): they are installed again")
        self._traffic.check(now_ns, seen=driver.done["seen"], unseen=driver.unseen, two_way=len(self._points) > 1)
        self._traffic.look_at_interfaces()
        if ticks % _COLLECT_TICKS == 0 and not driver.held:
            gc.collect(1)

    def _once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self._say(line)

    # Status documents.

    def _say_released(self) -> None:
        """Called in the watchdog's process."""
        stalled: Stalled = {
            "event": "released",
            "version": STATUS_VERSION,
            "agent": self._config.role.name,
            "scheme": self._scheme,
            "pid": os.getppid(),
        }
        self._on_status(stalled)

    def _ready(self, punctual: bool) -> Ready:
        return {
            "event": "ready",
            "version": STATUS_VERSION,
            "agent": self._config.role.name,
            "scheme": self._scheme,
            "pid": os.getpid(),
            "queues": list(self._points),
            "sched_fifo": punctual,
        }

    def _status(self, now_ns: int, *, final: bool = False) -> Status:
        driver = self._driver
        late = sorted(self._lateness_ns)
        return {
            "event": "end" if final else "status",
            "version": STATUS_VERSION,
            "agent": self._config.role.name,
            "scheme": self._scheme,
            "uptime_s": round((now_ns - self._started_ns) / NS_PER_S, 3),
            "packets": dict(driver.done),
            "held_pkts": driver.held,
            "kept_pkts": driver.kept,
            "passed_unseen": dict(driver.unseen),
            "drops": dict(driver.dropped),
            "hook": driver.counters(),
            "failed": driver.failure,
            "released": {"times": self._watchdog.released, "seconds": round(self._watchdog.released_ns / NS_PER_S, 3)},
            "errors": driver.errors,
            "queue": {
                "lost": 0 if final else self._queue.lost(),
                "overruns": self._queue.overruns,
                "refused": self._queue.refused,
            },
            "release_lateness_us": {
                "p50": late[len(late) // 2] // 1000 if late else None,
                "p99": late[len(late) * 99 // 100] // 1000 if late else None,
                "max": late[-1] // 1000 if late else None,
            },
            "flows": self._monitor.report(now_ns),
        }
