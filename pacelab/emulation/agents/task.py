"""What one agent is to do, as data: from the flags of `pacelab gateway`, ..., or whole on standard input.

People give flags. A run hands each of its agents a document, so that nothing of a scheme's settings is lost on the way.
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
"""Size of a task as JSON; one with the ways to 96 hosts is about 10 kB."""

_URL = re.compile(r"http://(?:127\.0\.0\.1|localhost):(\d{1,5})/?|unix:.+")


class Task(Document):
    """One agent's, whole. ConfigError names what does not go together."""

    agent: AgentName
    scheme: str
    settings: WholeHookSettings
    """`node` is this host's number in the run: its random streams are its own."""
    air: str
    """Interface to the air."""
    wired: str | None
    """Of a gateway: interface to the wired side; `wire+` is all whose name begins so."""
    path_rates: dict[IPv4Network, tuple[RateBps, ...]]
    """Rates of the wireless hops on the way to these addresses, nearest first."""
    datapath: str
    """`nfqueue`: packets through Python; `tc`: paced by the kernel."""
    link: str
    """Of a relay, who counts retries: `mediumd`, or the kernel by `nl80211`."""
    clamp_mss: bool
    mediumd: str | None
    """Path of its socket."""
    station: str | None
    """This node's name there."""
    queue: int | None
    """First NFQUEUE number; None: by role."""
    seconds: float | None
    """End after so long; None: never."""
    metrics: int | None
    """Port for Prometheus."""
    realtime: bool
    controller: str | None
    """URL of the controller that leads a gateway's agent."""
    name: str | None
    """This gateway's, there; None: the host's."""
    as_json: bool
    """A JSON document a line: ready, status each second, end."""
    quiet: bool
    """No live view, no notes."""

    @model_validator(mode="after")
    def _goes_together(self) -> Task:
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
        if self.controller is None:
            if self.name is not None:
                raise ConfigError(f"--name {self.name} needs --controller URL")
        elif self.datapath != "nfqueue":
            raise ConfigError(f"--controller needs --datapath nfqueue, not {self.datapath}")
        elif not _reachable(self.controller):
            raise ConfigError(f"--controller must be http://127.0.0.1:PORT or unix:PATH, not {self.controller!r}")
        return self


def _reachable(url: str) -> bool:
    """Whether a controller can be there: on this host's loopback or a Unix socket."""
    found = _URL.fullmatch(url)
    return found is not None and (found[1] is None or 0 < int(found[1]) < 65_536)
