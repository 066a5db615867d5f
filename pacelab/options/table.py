"""Every option of an experiment: its flag, its valid values, and its meaning.

One table serves `Experiment` (checks, defaults), the command line (parsing, help), and comparisons (lists of values).
Topologies have further options of their own (see `pacelab_topologies.registry`).

Sources of defaults: few_alpha Nahm et al. 2005, Sec. 4.2; few_min_window_pkts [lee] Sec. 3.5; size_bytes [lee] Sec.
5.2; playout_s [vagp] Fig. 2; throttle [le] Sec. 3.4, the one of four that it uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pacelab.errors import ConfigError
from pacelab.options.values import ALL_RATES, NS2_OF_2001, PHYS, PLACES, TCP_DEFAULTS, HostDelay
from pacelab.options.voice import CODECS
from pacelab.units import BPS_PER_MBPS
from pacelab_topologies.domain import ON_OFF, Choice, Domain, Real, Whole, Words, like_which

LARGEST_PAYLOAD_BYTES = 2256
"""802.11's MSDU of 2304 B less 8 B LLC and 40 B TCP/IP headers."""

SHORTEST_RUN_S = 0.001
"""A rate over less than this says nothing: an 802.11b packet takes about as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One field of `Experiment` and its flag on the command line."""

    field: str
    flag: str
    domain: Domain
    help: str
    default: Any = None
    """None: there is none, or it depends on other options (see `pacelab.experiment.resolve`)."""

    def parse(self, text: str) -> Any:
        """The value of a text. ConfigError names the flag, the valid values, and the text."""
        try:
            return self.domain.parse(text)
        except ValueError as error:
            raise ConfigError(f"{self.flag} {error}") from None

    def check(self, value: Any) -> None:
        """Raise ConfigError if `value` is not valid."""
        try:
            self.domain.check(value)
        except ValueError as error:
            raise ConfigError(f"{self.flag} {error}") from None


@dataclass(frozen=True, slots=True)
class TrafficDomain:
    """A named kind of traffic, or the path of a traffic file (see `pacelab.traffic.file`)."""

    @property
    def allowed(self) -> str:
        """In words."""
        return f"one of {', '.join(TRAFFIC)}, or a path to a .yaml file"

    def parse(self, text: str) -> str:
        """A name or a path is its own text."""
        self.check(text)
        return text

    def check(self, value: Any) -> None:
        """Raise ValueError if `value` is neither. The file itself is read later."""
        if not isinstance(value, str) or (value not in TRAFFIC and not is_traffic_file(value)):
            raise ValueError(f"must be {self.allowed}, not {value!r}{like_which(value, TRAFFIC)}")

    def show(self, value: Any) -> str:
        """Text of a value."""
        return str(value)


@dataclass(frozen=True, slots=True)
class ControlDomain:
    """A built-in congestion control, or one of the user as FILE.py:CLASS (see `pacelab.air.congestion`)."""

    @property
    def allowed(self) -> str:
        """In words."""
        return f"one of {', '.join(CONTROLS)}, or FILE.py:CLASS"

    def parse(self, text: str) -> str:
        """A name is its own text."""
        self.check(text)
        return text

    def check(self, value: Any) -> None:
        """Raise ValueError if `value` is neither. The file itself is read later."""
        if isinstance(value, str) and value.endswith(".py"):
            raise ValueError(f"must be FILE.py:CLASS with a class of that file, not {value!r}")
        path, _, class_name = str(value).rpartition(":")
        if value not in CONTROLS and not (path.endswith(".py") and class_name.isidentifier()):
            raise ValueError(f"must be {self.allowed}, not {value!r}{like_which(value, CONTROLS)}")

    def show(self, value: Any) -> str:
        """Text of a value."""
        return str(value)


CONTROLS = ("newreno", "reno", "tahoe", "vegas", "westwood", "westwood-2001", "cubic", "ctcp", "few")
"""The built-in congestion controls of the engine."""

TRAFFIC = ("tcp", "udp-saturated", "cbr", "file", "http", "voice", "mixed")
"""Named kinds of traffic: what each flow of the topology carries (see `pacelab.traffic.flows`)."""


def is_traffic_file(value: str) -> bool:
    """Whether --traffic names a file."""
    return value.endswith((".yaml", ".yml"))


PLAYOUT = Real(max(codec.interval_s for codec in CODECS.values()), 10)
"""A buffer shorter than the time between two packets holds none."""
_LOAD = Real(0, 100 * BPS_PER_MBPS, above=True, scale=BPS_PER_MBPS, whole=True)

OPTIONS: tuple[Option, ...] = tuple(
    Option(field=field, flag=flag, domain=domain, help=text, default=default)
    for field, flag, domain, text, default in (
        (
            "direction",
            "--direction",
            Choice.of("up", "down", "mixed"),
            "up: wireless to wired; down: the other way",
            None,
        ),
        ("traffic", "--traffic", TrafficDomain(), "what the flows carry", None),
        ("cc", "--cc", ControlDomain(), "base congestion control", "newreno"),
        (
            "ack",
            "--ack",
            Choice.of("every", "delayed", "dynamic", "dynamic-lee"),
            "ACK every segment, every second one, or more rarely as data comes in (1, 2, 3, 4; Lee's build: 1, 3)",
            "every",
        ),
        ("few_alpha", "--few-alpha", Real(0, 1, above=True), "growth of --cc few: segments per window of ACKs", 0.01),
        (
            "few_min_window_pkts",
            "--few-min-window",
            Whole(1, 10_000),
            "least window of --cc few, packets, from 1 on",
            1,
        ),
        ("phy", "--phy", Choice.of(*PHYS), "802.11 PHY", "802.11b"),
        ("rate_bps", "--rate", ALL_RATES, "data rate, Mbit/s, one of the PHY's", None),
        ("rts", "--rts", ON_OFF, "RTS/CTS before every unicast frame", True),
        ("retry_short", "--retry-short", Whole(1, 255), "attempts of an RTS, or of data sent without one", 7),
        ("retry_long", "--retry-long", Whole(1, 255), "attempts of data sent after an RTS", 4),
        ("edca", "--edca", ON_OFF, "four queues a station by category, instead of one", False),
        ("priority", "--priority", ON_OFF, "voice before all other packets in every interface queue", False),
        ("window_pkts", "--window", Whole(1, 10_000), "TCP's advertised window, packets", 32),
        ("initial_window_pkts", "--iw", Whole(1, 100), "TCP's initial window, packets", 2),
        ("min_rto_s", "--min-rto", Real(0.001, 60), "TCP's least retransmission timeout, s", 0.2),
        (
            "rto_backoff",
            "--rto-backoff",
            Choice.of("all", "wired", "none"),
            "senders that double the timeout each time it expires (RFC 6298)",
            "all",
        ),
        (
            "tcp_defaults",
            "--tcp-defaults",
            Choice.of(*TCP_DEFAULTS),
            "what TCPs differ in; ns2-2001: ns-2.1b8a's recovery, tick of 0.1 s, --min-rto 1, --headers ns2-2001",
            "rfc",
        ),
        ("payload_bytes", "--payload", Whole(1, LARGEST_PAYLOAD_BYTES), "payload of a packet, bytes", 1460),
        ("cbr_rate_bps", "--cbr-rate", _LOAD, "offered load of a cbr flow, Mbit/s", 500_000),
        ("burst_pkts", "--burst", Whole(1, 100), "packets that a cbr flow sends back to back", 1),
        ("size_bytes", "--size-bytes", Whole(1, 10**12), "size of each transfer of file traffic, bytes", 1_000_000),
        ("http_users", "--http-users", Whole(1, 1000), "users behind each flow of http traffic", 1),
        ("codec", "--codec", Choice.of(*CODECS), "codec of voice calls", "g729a"),
        ("playout_s", "--playout", PLAYOUT, "playout buffer of voice calls, s", 0.06),
        (
            "call_spacing_s",
            "--call-spacing",
            Real(0, 1000),
            "time from the start of one call to the next one's, s",
            0.0,
        ),
        ("tcp_start_s", "--tcp-start", Real(0, 1_000_000), "start of all flows but calls, s", 0.0),
        (
            "pace_rate_bps",
            "--pace-rate",
            _LOAD,
            "pace of each flow (fixed-rate), or of all (data-, ack-pacing, vagp-fixed), Mbit/s",
            None,
        ),
        (
            "gateway_window_pkts",
            "--gateway-window",
            Whole(1, 10_000),
            "window under window-control, packets per flow",
            None,
        ),
        ("pace_hops", "--pace-hops", Whole(1, 100), "n of the n-hop delay under tcp-ap and tcp-ap+delayed-ack", 4),
        (
            "throttle",
            "--throttle",
            Choice.of("zero-window", "drop", "duplicate-acks", "ecn-echo", "none"),
            "how a station holds its own TCP back under ack-suppression",
            "zero-window",
        ),
        (
            "host_delay",
            "--host-delay",
            HostDelay(),
            "of sim: time of a packet between wireless host and link layer, each way, s; exponential:MEAN: drawn",
            "0",
        ),
        (
            "extra_backoff",
            "--extra-backoff",
            Choice.of("frozen", "wall-clock"),
            "how the extra backoff of link-pacing and lred...+pacing passes: while the medium is idle, or by the clock",
            "frozen",
        ),
        ("queue_pkts", "--queue", Whole(1, 10_000), "interface queue, packets, drop-tail", 50),
        (
            "routing",
            "--routing",
            Choice.of("static", "aodv", "802.11s", "batman-adv", "olsr"),
            "routing among the wireless nodes; aodv: of sim; the last three: Linux's own, of hwsim, olsr of tap, too",
            "static",
        ),
        (
            "radio",
            "--radio",
            Choice.of("ns2", NS2_OF_2001, "standard", "sinr"),
            "radio preset; ns2-2001: ns-2.1b8a's, all at one rate and RTS always",
            "ns2",
        ),
        (
            "mac_ack",
            "--mac-ack",
            Choice.of("basic", "data", "mandatory"),
            "rate of MAC ACKs; mandatory: the highest such rate not above the data rate",
            None,
        ),
        (
            "headers",
            "--headers",
            Choice.of("real", "ns2", NS2_OF_2001),
            "ns2: UDP adds no header; ns2-2001: data has 20 B of headers, TCP's other segments 60",
            "real",
        ),
        (
            "backend",
            "--backend",
            Choice.of("sim", "tap", "hwsim"),
            "where the air is: simulated, or between real Linux hosts (needs root)",
            "sim",
        ),
        ("where", "--where", Choice.of(*PLACES), "whose kernel the hosts are on: this machine's or a guest's", "here"),
        (
            "builder",
            "--builder",
            Choice.of("plain", "mininet-wifi"),
            "of --backend hwsim: plain namespaces, or a network of Mininet-WiFi",
            None,
        ),
        (
            "medium",
            "--medium",
            Choice.of("pacelab", "stock"),
            "medium of --backend hwsim: PaceLab's mediumd, or the wmediumd on the PATH, without interference",
            None,
        ),
        (
            "controller",
            "--controller",
            Choice.of("ryu"),
            "of real hosts: wired hosts, routers and gateways on OpenFlow switches, with handover between gateways",
            None,
        ),
        (
            "linux_tcp",
            "--linux-tcp",
            Words.of("sack", "rack", "tlp", "frto", "timestamps", "pacing", "no-prr", "no-hystart"),
            "of real hosts: what of Linux's own TCP is to be other than for NewReno's sake, joined by + (docs/uml.md)",
            None,
        ),
        ("duration_s", "--seconds", Real(SHORTEST_RUN_S, 1_000_000), "length of the run, s", 60.0),
        ("warmup_s", "--warmup", Real(0, 1_000_000), "start of the measured interval, s", 0.0),
        ("seed", "--seed", Whole(0, 2**63 - 1), "seed of all randomness", 1),
    )
)

SCHEME_OPTIONS = ("pace_hops", "pace_rate_bps", "gateway_window_pkts", "throttle", "extra_backoff")
"""Those of single schemes, which say that they take them."""
CONTROL_OPTIONS = {"few": ("few_alpha", "few_min_window_pkts")}
"""Congestion control -> those of its own."""
BACKEND_OPTIONS = ("where", "builder", "medium", "controller", "linux_tcp")
"""Those of single back ends, which say that they take them."""

BY_FLAG: dict[str, Option] = {option.flag: option for option in OPTIONS}
"""Flag on the command line -> its option."""

BY_FIELD: dict[str, Option] = {option.field: option for option in OPTIONS}
"""Field of `Experiment` -> its option."""
