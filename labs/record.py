"""Records the results that the cells "on real hosts" show on a computer without a real back end.

    sudo python labs/record.py --backend tap [NAME ...]
    python labs/record.py --backend hwsim --where uml [NAME ...]

Run it on a host that has the back end. It writes into labs/pacelab_labs/recorded.json and refuses simulated runs.
`--table` prints the recordings as the table of docs/instructors.md, and runs only `sim`.
"""

from __future__ import annotations

import argparse
import sys

from pacelab import Experiment, PaceLabError, lab

HIDDEN_AUTO = Experiment(
    topology="hidden",
    traffic="udp-saturated",
    radio="standard",
    phy="802.11g",
    rate_bps="auto",
    backend="hwsim",
    duration_s=5,
    warmup_s=2,
)
UDP = {"rate_bps": 2_000_000, "duration_s": 10}
PLANS = {
    "lab0.chain": [Experiment(topology="chain", topology_options={"hops": 4}, window_pkts=64, duration_s=20)],
    "lab2.window": [
        Experiment(
            topology="chain",
            topology_options={"hops": 4, "wired": False},
            rate_bps=2_000_000,
            min_rto_s=1.0,
            window_pkts=window,
            duration_s=20,
        )
        for window in (2, 32)
    ],
    "lab3.lred": [
        Experiment(
            topology="chain",
            topology_options={"hops": 4, "wired": False},
            rate_bps=2_000_000,
            min_rto_s=1.0,
            scheme=scheme,
            duration_s=20,
        )
        for scheme in ("newreno", "lred")
    ],
    "lab5.voice": [
        Experiment(
            topology="string",
            topology_options={"hops": 2, "voice": 2, "tcp": 1},
            duration_s=20,
            scheme=scheme,
        )
        for scheme in ("newreno", "vagp")
    ],
    "lab7.pacing": [
        Experiment(topology_options={"hops": 3}, direction="down", window_pkts=64, duration_s=20, scheme=scheme)
        for scheme in ("newreno", "tcp-gap-nogc")
    ],
    "lab6.acks": [
        Experiment(topology_options={"hops": 3, "wired": False}, duration_s=20, ack=ack) for ack in ("every", "delayed")
    ],
    "lab4.gap": [
        Experiment(topology_options={"hops": 4}, duration_s=20, window_pkts=64, scheme=scheme)
        for scheme in ("newreno", "tcp-gap")
    ],
    "lab8.bbr": [
        Experiment(
            topology_options={"hops": hops, "wired": False}, rate_bps=2_000_000, window_pkts=256, cc=cc, duration_s=20
        )
        for hops in (1, 7)
        for cc in ("cubic", "bbr")
    ],
    "lab8.minstrel": [HIDDEN_AUTO.vary(rts=rts) for rts in (False, True)],
    "lab1.hidden": [Experiment(topology="hidden", rts=on, **UDP) for on in (False, True)],
}
"""The experiments of each of these cells. A test compares them with the masters."""


def main() -> int:
    """Record; returns the exit code."""
    parser = argparse.ArgumentParser(description="record runs on real hosts for the labs")
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("--backend", default="tap")
    parser.add_argument("--where", default="here")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(PLANS))
    if unknown:
        parser.error(f"no such cell: {unknown[0]!r}; must be one of {', '.join(PLANS)}")
    if given.table:
        print(lab.expected_results({name: PLANS[name] for name in given.names or sorted(PLANS)}))
        return 0
    code = 0
    for name in given.names or PLANS:
        try:
            print(name, lab.record(name, given.backend, tuple(PLANS[name]), where=given.where), flush=True)
        except PaceLabError as error:
            print(f"{name}: {error}", file=sys.stderr)
            code = error.exit_code
    return code


if __name__ == "__main__":
    sys.exit(main())
