"""The settings of an experiment: each is defined here, once.

A setting's type, flag, valid values, meaning, default, and group are its definition. What else needs the setting
derives from it: the check of a value in Python, on the command line, in a topology file and in a plan for real hosts;
the help text; lists of values in comparisons; the `config` of run.json. To add a setting, add a field with
`omit_default=True`, then use it: results of runs that leave it at its default keep their bytes.
Topologies have further options of their own (see `pacelab_topologies.registry`).

Times are in seconds, rates in bit/s, windows and queues in packets.

Sources of defaults: few_alpha Nahm et al. 2005, Sec. 4.2; few_min_window_pkts [lee] Sec. 3.5; size_bytes [lee] Sec.
5.2; playout_s [vagp] Fig. 2; throttle [le] Sec. 3.4, the one of four that it uses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from pacelab.domains import ON_OFF, Choice, Domain, Real, Whole, Words
from pacelab.errors import ConfigError
from pacelab.options.congestion_controls import BUNDLES, SWITCHES
from pacelab.options.high_throughput import (
    BANDS,
    GUARD_INTERVALS,
    MOST_AMPDU_BYTES,
    MOST_AMPDU_FRAMES,
    MOST_MCS,
    MOST_STREAMS,
    WIDTHS,
)
from pacelab.options.names_or_files import ControlDomain, QdiscDomain, TrafficDomain
from pacelab.options.values import (
    AUTO,
    DEFAULT_MCS,
    MPDU_SPACINGS,
    NS2_OF_2001,
    PHY_NAMES,
    PHYS,
    PLACES,
    RATES,
    TCP_DEFAULTS,
    HostDelay,
)
from pacelab.options.voice import CODECS
from pacelab.units import BPS_PER_MBPS

LARGEST_PAYLOAD_BYTES = 2256
"""802.11's MSDU of 2304 B less 8 B LLC and 40 B TCP/IP headers."""

SHORTEST_RUN_S = 0.001
"""A shorter interval gives no useful rate, since an 802.11b packet takes about as long."""

PLAYOUT = Real(max(codec.interval_s for codec in CODECS.values()), 10)
"""A buffer shorter than the time between two packets holds none."""
SERIES_INTERVAL = Real(0.000_001, 1_000_000)
_LOAD = Real(0, 100 * BPS_PER_MBPS, above=True, scale=BPS_PER_MBPS, whole=True)

Request: TypeAlias = Mapping[str, Any]
"""Field of `Options` -> the value that a user gives. `pacelab.experiment.resolve` fills in what is absent or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A setting of an experiment: a field of `Experiment`, with its flag on the command line if it has one."""

    field: str
    flag: str
    """The name of the field, if the command line does not have the setting."""
    domain: Domain
    help: str
    default: Any = None
    """None: there is no default, or it depends on other options (see `pacelab.experiment.resolve`)."""
    group: str = ""
    """"scheme", "backend" or "cc NAME": `Experiment.config` has the option only beside what it belongs to."""
    omit_default: bool = False
    """Leave the option out of run.json and of plans while it has its default; see `OMITTED_DEFAULTS`."""

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


class _NotGiven:
    """The value of a field that nobody has given and `resolve` has not filled in yet."""

    def __repr__(self) -> str:
        return "not given"


NOT_GIVEN: Final[Any] = _NotGiven()


def setting(
    flag: str,
    domain: Domain,
    help: str,
    *,
    default: Any = None,
    group: str = "",
    omit_default: bool = False,
) -> Any:
    """Define a field of `Options`; see `Option`. An empty flag: the command line does not have the setting."""
    definition = {"flag": flag, "domain": domain, "help": help, "default": default, "group": group}
    return dataclasses.field(default=NOT_GIVEN, metadata={"setting": definition | {"omit_default": omit_default}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of one experiment. Every field of a resolved experiment has its value."""

    topology: str = NOT_GIVEN
    """A name, or the path of a file."""
    topology_options: Mapping[str, object] = NOT_GIVEN
    """The topology's own options that were given, for example `{"hops": 7, "wired": False}`."""
    scheme: str = NOT_GIVEN
    """A name, or FILE.py:NAME."""
    direction: str = setting(
        "--direction", Choice.of("up", "down", "mixed"), "up: wireless to wired; down: the other way"
    )
    traffic: str = setting("--traffic", TrafficDomain(), "what the flows carry")
    cc: str = setting("--cc", ControlDomain(), "base congestion control", default="newreno")
    ack: str = setting(
        "--ack",
        Choice.of("every", "delayed", "dynamic", "dynamic-lee"),
        "delayed: an ACK for every second segment; dynamic: for 1, later for 2, 3, 4 segments (dynamic-lee: 1, 3)",
        default="every",
    )
    few_alpha: float = setting(
        "--few-alpha",
        Real(0, 1, above=True),
        "growth of --cc few: segments per window of ACKs",
        default=0.01,
        group="cc few",
    )
    few_min_window_pkts: int = setting(
        "--few-min-window", Whole(1, 10_000), "least window of --cc few, packets, from 1 on", default=1, group="cc few"
    )
    phy: str = setting("--phy", PHY_NAMES, "802.11 PHY, with or without 802.11: n is 802.11n", default="802.11b")
    rate_bps: int | Literal["auto"] = setting(
        "--rate",
        RATES,
        "data rate of the PHY (with 802.11n, ac, and ax use --mcs); auto: on hwsim, Linux's Minstrel chooses the rate"
        " of each frame",
    )
    mcs: int = setting(
        "--mcs",
        Whole(0, MOST_MCS),
        "modulation and coding scheme: 802.11n 0 to 7, or 8 to 31 for 2 to 4 streams; 802.11ac to 9; 802.11ax to 11",
        default=DEFAULT_MCS,
        omit_default=True,
    )
    width_mhz: int = setting(
        "--channel-width",
        WIDTHS,
        "channel width of 802.11n, ac, and ax (802.11n: 20 or 40)",
        default=20,
        omit_default=True,
    )
    streams: int = setting(
        "--streams", Whole(1, MOST_STREAMS), "spatial streams of 802.11n, ac, and ax", default=1, omit_default=True
    )
    gi: str = setting(
        "--gi",
        GUARD_INTERVALS,
        "guard interval of 802.11n and ac: long (0.8 us) or short (0.4); of 802.11ax: 0.8, 1.6, or 3.2 us",
        default="long",
        omit_default=True,
    )
    band_ghz: str = setting(
        "--band", BANDS, "frequency band of 802.11n, ac, and ax (802.11ac: 5)", default="5", omit_default=True
    )
    ampdu_frames: int = setting(
        "--ampdu",
        Whole(1, MOST_AMPDU_FRAMES),
        "most frames of an aggregate, up to 64 (802.11ax: 256); 1: each packet is sent alone",
        default=64,
        omit_default=True,
    )
    ampdu_bytes: int = setting(
        "--ampdu-bytes",
        Whole(1, MOST_AMPDU_BYTES),
        "longest aggregate, bytes; 802.11ac and ax: by default 1048575 and 6500631 (a PPDU lasts at most 5484 us)",
        default=65_535,
        omit_default=True,
    )
    ampdu_spacing_ns: int = setting(
        "--ampdu-spacing",
        MPDU_SPACINGS,
        "least time between the starts of two frames of an aggregate, us",
        default=0,
        omit_default=True,
    )
    rts: bool = setting("--rts", ON_OFF, "RTS/CTS before every unicast frame", default=True)
    retry_short: int = setting(
        "--retry-short", Whole(1, 255), "attempts of an RTS, or of data sent without one", default=7
    )
    """The maximum number of attempts, including the first."""
    retry_long: int = setting("--retry-long", Whole(1, 255), "attempts of data sent after an RTS", default=4)
    edca: bool = setting(
        "--edca", ON_OFF, "802.11e: four queues per station, one for each access category", default=False
    )
    priority: bool = setting(
        "--priority", ON_OFF, "voice before all other packets in every interface queue", default=False
    )
    window_pkts: int = setting("--window", Whole(1, 10_000), "TCP's advertised window, packets", default=32)
    initial_window_pkts: int = setting("--iw", Whole(1, 100), "TCP's initial window, packets", default=2)
    min_rto_s: float = setting("--min-rto", Real(0.001, 60), "TCP's least retransmission timeout, s", default=0.2)
    rto_backoff: str = setting(
        "--rto-backoff",
        Choice.of("all", "wired", "none"),
        "senders that double the timeout each time it expires (RFC 6298)",
        default="all",
    )
    tcp_defaults: str = setting(
        "--tcp-defaults",
        Choice.of(*TCP_DEFAULTS),
        "set of TCP details; ns2-2001 has ns-2.1b8a's recovery, a tick of 0.1 s, --min-rto 1, --headers ns2-2001",
        default="rfc",
    )
    payload_bytes: int = setting(
        "--payload", Whole(1, LARGEST_PAYLOAD_BYTES), "payload of a packet, bytes", default=1460
    )
    cbr_rate_bps: int = setting("--cbr-rate", _LOAD, "offered load of a cbr flow, Mbit/s", default=500_000)
    burst_pkts: int = setting("--burst", Whole(1, 100), "packets that a cbr flow sends back to back", default=1)
    size_bytes: int = setting(
        "--size-bytes", Whole(1, 10**12), "size of each transfer of file traffic, bytes", default=1_000_000
    )
    http_users: int = setting("--http-users", Whole(1, 1000), "users behind each flow of http traffic", default=1)
    codec: str = setting("--codec", Choice.of(*CODECS), "codec of voice calls", default="g729a")
    playout_s: float = setting("--playout", PLAYOUT, "playout buffer of voice calls, s", default=0.06)
    call_spacing_s: float = setting(
        "--call-spacing", Real(0, 1000), "time from the start of one call to the next one's, s", default=0.0
    )
    tcp_start_s: float = setting("--tcp-start", Real(0, 1_000_000), "start of all flows except calls, s", default=0.0)
    pace_rate_bps: int | None = setting(
        "--pace-rate",
        _LOAD,
        "pace of each flow (fixed-rate), or of all (data-, ack-pacing, vagp-fixed), Mbit/s",
        group="scheme",
    )
    """None: the scheme's default, or no value for a scheme that needs none."""
    gateway_window_pkts: int | None = setting(
        "--gateway-window", Whole(1, 10_000), "window that window-control writes, packets per flow", group="scheme"
    )
    """None: the scheme's default."""
    pace_hops: int = setting(
        "--pace-hops",
        Whole(1, 100),
        "n of the n-hop delay of tcp-ap and tcp-ap+delayed-ack",
        default=4,
        group="scheme",
    )
    throttle: str = setting(
        "--throttle",
        Choice.of("zero-window", "drop", "duplicate-acks", "ecn-echo", "none"),
        "how a station holds its own TCP back under ack-suppression",
        default="zero-window",
        group="scheme",
    )
    host_delay: str = setting(
        "--host-delay",
        HostDelay(),
        "only sim: delay of each packet between wireless host and link layer, s; exponential:MEAN draws the delay",
        default="0",
    )
    """Seconds, or `exponential:` and the mean in seconds (`pacelab.options.values`)."""
    extra_backoff: str = setting(
        "--extra-backoff",
        Choice.of("frozen", "wall-clock"),
        "extra backoff of link-pacing and lred...+pacing; frozen: counts down only while the medium is idle",
        default="frozen",
        group="scheme",
    )
    queue_pkts: int = setting("--queue", Whole(1, 10_000), "limit of an interface queue, packets", default=50)
    qdisc: str = setting(
        "--qdisc",
        QdiscDomain(),
        "discipline of the queues of radios and wires; pfifo: drop-tail; of sim also FILE.py:CLASS",
        default="pfifo",
        omit_default=True,
    )
    ecn: bool = setting(
        "--ecn",
        ON_OFF,
        "TCP negotiates ECN, and the queues of --qdisc codel and fq_codel mark its packets instead of dropping them",
        default=False,
        omit_default=True,
    )
    sack: bool = setting(
        "--sack",
        ON_OFF,
        "TCP of sim uses selective ACKs and finds losses by time (RACK); bbr always does; on Linux: --linux-tcp",
        default=False,
        omit_default=True,
    )
    routing: str = setting(
        "--routing",
        Choice.of("static", "aodv", "aodv-2001", "802.11s", "batman-adv", "olsr"),
        "routing of the wireless nodes; aodv (as in ns-2.35) and aodv-2001 (as in ns-2.1b8a) need --backend sim; "
        "802.11s, batman-adv and olsr are Linux's own and need --backend hwsim (olsr: or tap)",
        default="static",
    )
    radio: str = setting(
        "--radio",
        Choice.of("ns2", NS2_OF_2001, "standard", "sinr"),
        "radio preset, by default standard with 802.11n, ac, ax; ns2-2001: ns-2.1b8a's, all at one rate and RTS always",
        default="ns2",
    )
    mac_ack: str = setting(
        "--mac-ack",
        Choice.of("basic", "data", "mandatory", "mandatory-ack"),
        "rate of MAC ACKs; mandatory: the highest such rate not above the data rate, for RTS and CTS as well; "
        "mandatory-ack: the same for ACKs alone",
    )
    headers: str = setting(
        "--headers",
        Choice.of("real", "ns2", NS2_OF_2001),
        "ns2: UDP adds no header; ns2-2001: data has 20 B of headers, TCP's other segments 60",
        default="real",
    )
    backend: str = setting(
        "--backend",
        Choice.of("sim", "tap", "hwsim"),
        "what runs the experiment, the simulator (sim) or real Linux hosts (tap, hwsim; need root)",
        default="sim",
    )
    where: str = setting(
        "--where",
        Choice.of(*PLACES),
        "kernel that runs the hosts, this machine's (here) or a guest's",
        default="here",
        group="backend",
    )
    builder: str | None = setting(
        "--builder",
        Choice.of("plain", "mininet-wifi"),
        "of --backend hwsim: plain namespaces, or a network of Mininet-WiFi",
        group="backend",
    )
    """None if the back end does not have this option; the same holds for the options below."""
    medium: str | None = setting(
        "--medium",
        Choice.of("pacelab", "stock"),
        "medium of --backend hwsim: PaceLab's mediumd, or the wmediumd on the PATH, without interference",
        group="backend",
    )
    controller: str | None = setting(
        "--controller",
        Choice.of("ryu"),
        "of real hosts: wired hosts, routers and gateways on OpenFlow switches, with handover between gateways",
        group="backend",
    )
    """None: plain routing."""
    linux_tcp: str | None = setting(
        "--linux-tcp",
        Words.of(*BUNDLES, *SWITCHES),
        "only real hosts: features of Linux's TCP, joined by +; by default none, but today (Linux's own defaults) with "
        "bbr and with controls that only Linux has (docs/uml.md)",
        group="backend",
    )
    """None, and "none": Linux's TCP is as close to NewReno as possible."""
    ping_interval_s: float | None = setting(
        "--ping",
        Real(0.01, 60),
        "time between two pings from the source of each flow (except calls) to its destination, s",
        group="backend",
        omit_default=True,
    )
    """None: there are no pings."""
    duration_s: float = setting("--seconds", Real(SHORTEST_RUN_S, 1_000_000), "length of the run, s", default=60.0)
    warmup_s: float = setting("--warmup", Real(0, 1_000_000), "start of the measured interval, s", default=0.0)
    seed: int = setting("--seed", Whole(0, 2**63 - 1), "seed of all randomness", default=1)
    series_interval_s: float = setting("", SERIES_INTERVAL, "width of the intervals of time series, s", default=1.0)
    stop_after_pkts: int | None = setting(
        "", Whole(1, 2**63 - 1), "end when each TCP flow has delivered so many segments"
    )
    batch_pkts: int | None = setting(
        "", Whole(1, 2**63 - 1), "record when each multiple of so many segments was delivered"
    )

    @property
    def data_rate_bps(self) -> int:
        """The data rate; with rate control, the highest rate that a frame may have."""
        return PHYS[self.phy].rates_bps[-1] if self.rate_bps == AUTO else self.rate_bps

    @property
    def basic_rate_bps(self) -> int:
        """The rate of control frames. ns-2 of 2001 had one rate for all."""
        return self.data_rate_bps if self.radio == NS2_OF_2001 else PHYS[self.phy].basic_rate_bps


SETTINGS: tuple[Option, ...] = tuple(
    Option(field=item.name, **(item.metadata["setting"] | {"flag": item.metadata["setting"]["flag"] or item.name}))
    for item in dataclasses.fields(Options)
    if "setting" in item.metadata
)
"""All settings except topology, topology options, and scheme."""
OPTIONS: tuple[Option, ...] = tuple(option for option in SETTINGS if option.flag.startswith("--"))
"""The settings that the command line has."""

BY_FLAG: dict[str, Option] = {option.flag: option for option in OPTIONS}
"""Flag on the command line -> its option."""

BY_FIELD: dict[str, Option] = {option.field: option for option in OPTIONS}
"""Field of `Experiment` -> its option."""

OMITTED_DEFAULTS: dict[str, Any] = {option.field: option.default for option in SETTINGS if option.omit_default}
"""Field -> default of the settings that are stored only when they differ from it. A reader fills in the default."""


def without_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` by field, without those of `OMITTED_DEFAULTS` that have their default."""
    return {
        name: value for name, value in values.items() if name not in OMITTED_DEFAULTS or value != OMITTED_DEFAULTS[name]
    }


def in_group(group: str) -> tuple[str, ...]:
    """The fields of this group, in the order of their definition."""
    return tuple(option.field for option in OPTIONS if option.group == group)


SCHEME_OPTIONS = in_group("scheme")
"""Settings of single schemes. A scheme names those that it takes (`Scheme.options`)."""
BACKEND_OPTIONS = in_group("backend")
"""Settings of single back ends. A back end names those that it takes."""
