"""`--medium stock`: the machine's own wmediumd as the air, for comparison with mediumd.

It sends one frame after the other, whoever the sender is: no carrier sense, no collisions, no RTS, and no interface
queue that fills. From the plan it uses only the pairs of stations that hear each other. Only the kernel reports what
happened on its air, through nl80211: retries come from bad links, never from collisions.

Source: wmediumd, branch mininet-wifi (config.c: ifaces.ids, model.type "snr"; wmediumd.c: queue_frame).
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from pacelab.documents import JsonObject
from pacelab.emulation.messages import MediumStatistics
from pacelab.emulation.namespaces import inside
from pacelab.emulation.network.addresses import air_mac, radio_name
from pacelab.emulation.network.counters import COUNTED, DROPS, GAUGES, OUTSIDE
from pacelab.emulation.network.medium import SOCKET
from pacelab.emulation.plan import Plan
from pacelab.emulation.processes import SAFE_PATH, Child, environment
from pacelab.errors import HostError
from pacelab_pacer.linux.link_layer import read_stations

NAME = "wmediumd"
NOTE = (
    "--medium stock: wmediumd sends one frame after the other for all stations, without carrier sense, collisions, RTS "
    "and interface queues; the air's counters are only those of the kernel"
)
HEARD_DB, UNHEARD_DB = 30, -30
"""Signal over its noise of -91 dBm: its own default, received at every rate, and a value below all that it delivers."""
QUIET = "3"
"""Log level: only errors."""
OURS = "(PaceLab mediumd "
"""Start of mediumd's answer if it is installed under this name."""
UP_S = 1.0
"""wmediumd does not report when it is registered; Mininet-WiFi waits as long."""


def start(plan: Plan) -> Child:
    """Start wmediumd as the medium of the radios of this network namespace. Raises HostError."""
    program = find_program()
    file = Path(SOCKET).with_name(f"{NAME}.cfg")  # in the run's own /run
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(configuration(plan))
    child = Child(NAME, [str(program), "-l", QUIET, "-c", str(file)])
    time.sleep(UP_S)
    if not child.alive():
        raise HostError(f"starting {NAME}: {child.last_words() or 'it printed no message'}")
    return child


def find_program() -> Path:
    """The stock program where root looks for programs. PaceLab's mediumd under the same name does not count."""
    found = shutil.which(NAME, path=SAFE_PATH)
    remedy = f"install {NAME} (Mininet-WiFi's util/install.sh -l), or --medium pacelab"
    if found is None:
        raise HostError(f"--medium stock: no program {NAME} in {SAFE_PATH}: {remedy}")
    said = subprocess.run([found, "-V"], capture_output=True, text=True, env=environment(), check=False)
    if OURS in said.stdout:
        raise HostError(f"--medium stock: {found} is PaceLab's mediumd, not the stock wmediumd: {remedy}")
    return Path(found)


def configuration(plan: Plan) -> str:
    """The configuration of wmediumd: the stations, and the signal of each pair."""
    stations = plan.stations
    heard = {frozenset(pair) for pair in plan.neighbours}
    ids = ", ".join(f'"{air_mac(host)}"' for host in stations)
    links = ", ".join(
        f"({i}, {j}, {HEARD_DB if frozenset((a, b)) in heard else UNHEARD_DB})"
        for i, a in enumerate(stations)
        for j, b in enumerate(stations)
        if i < j
    )
    return f'ifaces: {{ ids = [ {ids} ]; }};\nmodel: {{ type = "snr"; links = ( {links} ); }};\n'


class StockMedium:
    """Replaces a connection to mediumd: its statistics come from the kernel's counters."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def call(self, method: str, **_: Any) -> JsonObject:
        """Answer mediumd's method `stats`, the only one."""
        if method != "stats":
            raise HostError(f"--medium stock: {NAME} cannot do {method!r}; use --medium pacelab")
        return dict(self.statistics())

    def statistics(self) -> MediumStatistics:
        """As mediumd's."""
        rows = [self._station(host) for host in self._plan.stations]
        return {
            "fidelity": "valid",  # wmediumd reports none; the rest of the machine is judged
            "fidelity_since_start": "valid",
            "lost": 0,
            "lateness": None,
            "process": None,
            "frames": {
                "from_hosts": sum(row["delivered_frames"] + row["drops_data"] for row in rows),
                "to_hosts": sum(row["delivered_frames"] for row in rows),
            },
            "drops": dict.fromkeys((*DROPS, *OUTSIDE), 0) | {"mac-data": sum(row["drops_data"] for row in rows)},
            "stations": rows,
        }

    def _station(self, host: int) -> JsonObject:
        name = self._plan.nodes[host].name
        with inside(name):
            seen = read_stations(radio_name(self._plan))
        packets, retries, failed = (
            sum(getattr(station, field) for station in seen) for field in ("packets", "retries", "failed")
        )
        return dict.fromkeys((*COUNTED, *GAUGES), 0) | {
            "name": name,
            "data_sent": packets + retries,
            "delivered_frames": packets - failed,
            "retries": retries,
            "data_failures": failed,
            "drops_data": failed,
        }
