"""The task of one agent, as data: from the flags of `pacelab gateway` and others, or as a document on standard input.

People give flags. A run passes each of its agents a document, which contains all settings of the scheme.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Network

from pydantic import model_validator

from pacelab.emulation.agents.roles import AgentName
from pacelab.emulation.documents import Document, WholeHookSettings
from pacelab.emulation.plan import RateBps
from pacelab.errors import ConfigError
from pacelab.schemes import SCHEMES, find_scheme

DATAPATHS = ("nfqueue", "tc")
LINKS = ("mediumd", "nl80211")
MOST_BYTES = 1_000_000
"""Maximum size of a task as JSON. A task with the paths to 96 hosts has about 10 kB."""

_URL = re.compile(r"http://(?:127\.0\.0\.1|localhost):(\d{1,5})/?|unix:.+")


class Task(Document):
    """All settings of one agent. Raises ConfigError that names settings that contradict each other."""

    agent: AgentName
    scheme: str
    settings: WholeHookSettings
    """`node` is this host's number in the run. Each node has its own random streams."""
    air: str
    """The wireless interface."""
    wired: str | None
    """A gateway's wired interface. `wire+` means all interfaces whose names begin with `wire`."""
    path_rates: dict[IPv4Network, tuple[RateBps, ...]]
    """Rates of the wireless hops on the path to these addresses, nearest first."""
    datapath: str
    """`nfqueue`: packets pass through Python. `tc`: the kernel paces them."""
    link: str
    """For a relay, the source of its retry counts: `mediumd`, or the kernel through `nl80211`."""
    clamp_mss: bool
    mediumd: str | None
    """Path of mediumd's socket."""
    station: str | None
    """This node's name at mediumd."""
    queue: int | None
    """First NFQUEUE number; None: the default of the role."""
    seconds: float | None
    """End after this time; None: never."""
    metrics: int | None
    """Port for Prometheus."""
    realtime: bool
    controller: str | None
    """URL of the controller of a gateway's agent."""
    name: str | None
    """This gateway's name at the controller; None: the host's name."""
    as_json: bool
    """Print one JSON document per line: ready, the status each second, end."""
    quiet: bool
    """No live view and no notes."""

    @model_validator(mode="after")
    def _check(self) -> Task:
        if self.datapath not in DATAPATHS:
            raise ConfigError(f"--datapath must be one of {', '.join(DATAPATHS)}, not {self.datapath!r}")
        if self.datapath == "tc" and (self.clamp_mss or self.queue is not None):
            flag = "--clamp-mss" if self.clamp_mss else f"--queue {self.queue}"
            raise ConfigError(f"{flag} needs --datapath nfqueue")
        if self.link not in LINKS:
            raise ConfigError(f"--link must be one of {', '.join(LINKS)}, not {self.link!r}")
        if self.link == "nl80211" and not find_scheme(self.scheme).needs_only_retry_counts:
            able = ", ".join(name for name, known in SCHEMES.items() if known.needs_only_retry_counts)
            raise ConfigError(
                f"--link nl80211 cannot follow single frames, as --scheme {self.scheme} needs; use one of {able}"
            )
        if (self.mediumd is None) != (self.station is None):
            raise ConfigError(
                "--mediumd and --station must be given together; they name the station whose link layer to follow"
            )
        if (self.agent == "gateway") != (self.wired is not None):
            raise ConfigError("--wired must be given for a gateway, and only for a gateway")
        if self.wired == self.air:
            raise ConfigError(f"--wired must be another interface than --air, not {self.wired}")
        if self.wired is not None and self.wired.endswith("+") and self.air.startswith(self.wired[:-1]):
            raise ConfigError(f"--wired must not include {self.air}, the interface of --air, as {self.wired} does")
        if self.controller is None:
            if self.name is not None:
                raise ConfigError(f"--name {self.name} needs --controller URL")
        elif self.datapath != "nfqueue":
            raise ConfigError(f"--controller needs --datapath nfqueue, not {self.datapath}")
        elif not _reachable(self.controller):
            raise ConfigError(f"--controller must be http://127.0.0.1:PORT or unix:PATH, not {self.controller!r}")
        return self


def _reachable(url: str) -> bool:
    """Whether the URL is on this host: on the loopback interface or at a Unix socket."""
    found = _URL.fullmatch(url)
    return found is not None and (found[1] is None or 0 < int(found[1]) < 65_536)
