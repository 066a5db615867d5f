"""What does pacing cost if radios aggregate frames: packet by packet, and aggregate by aggregate?

    .venv/bin/python studies/gap_aggregate.py            run what gap_aggregate.csv lacks
    .venv/bin/python studies/gap_aggregate.py --table    print the table as Markdown, without any run

This text was written before the runs. The scheme was developed on two scenes: chains of 1 and 4 hops up without a wire,
NewReno, seed 1, 10 s measured. In these, `tcp-gap` had 31 and 33 % of the goodput of no pacer, and `tcp-gap+aggregate`
97 and 86 %. Nothing was changed after the runs below.

Held-out scenes, 802.11n at MCS 7 with aggregates of any size, preset `standard`, W = 256, 20 s without the first 5 s,
seeds 101 to 105: chains of 2, 3, 5 and 6 hops up without a wire; chains of 2, 4 and 6 hops down behind the wires; and
`cross` and `parallel`. Senders: NewReno, CUBIC, Vegas, and BBR, which the simulator received
between the first runs and the last ones.

Predictions, for the means over the seeds, for each scene and sender:

    packet by packet       `tcp-gap` loses a third or more of the goodput without a pacer
    aggregate by aggregate `tcp-gap+aggregate` and `tcp-gap-eval+aggregate` lose less than a third

The table reports the number of cases that meet each prediction, and the round trips. Jain's index is in the rows.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from stored_rows import StoredRows, only_table, totals_of

from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run

KEYS, VALUES = ("scene", "cc", "scheme", "seed"), ("goodput_bps", "jain", "rtt_s", "dropped_pkts")
ROWS = StoredRows(Path(__file__).with_suffix(".csv"), KEYS, VALUES)
SEEDS = range(101, 106)
CONTROLS = ("newreno", "cubic", "vegas", "bbr")
SCENES: dict[str, dict[str, Any]] = {
    **{
        f"chain {hops} up": {"topology": "chain", "topology_options": {"hops": hops, "wired": False}}
        for hops in (2, 3, 5, 6)
    },
    **{
        f"chain {hops} down": {"topology": "chain", "topology_options": {"hops": hops}, "direction": "down"}
        for hops in (2, 4, 6)
    },
    **{name: {"topology": name} for name in ("cross", "parallel")},
}
SCHEMES = ("newreno", "tcp-gap", "tcp-gap+aggregate", "tcp-gap-eval+aggregate")
COMMON: dict[str, Any] = {
    **{"phy": "802.11n", "mcs": 7, "radio": "standard", "window_pkts": 256},
    **{"duration_s": 20.0, "warmup_s": 5.0},
}
THIRD = 2 / 3

Means = dict[tuple[str, ...], dict[str, float]]


def main() -> None:
    """Run or print (see the module's docstring)."""
    if only_table(__doc__):
        print(table(ROWS.means()))
    else:
        ROWS.add_missing(product(SCENES, CONTROLS, SCHEMES, SEEDS), measure)


def measure(scene: str, cc: str, scheme: str, seed: int) -> dict[str, object]:
    """One run."""
    return totals_of(run(Experiment(**SCENES[scene], **COMMON, scheme=scheme, cc=cc, seed=seed)).run)


def table(found: Means) -> str:
    """Of each scene and sender: Mbit/s and ms without a pacer, and the schemes' shares of that goodput.

    Bold shares are not as predicted.
    """
    lines = [f"| scene, sender | no pacer | {' | '.join(SCHEMES[1:])} |", "|---" * 5 + "|"]
    met = [0, 0, 0]
    for scene, cc in product(SCENES, CONTROLS):
        of = [found[scene, cc, scheme] for scheme in SCHEMES]
        shares = [each["goodput_bps"] / of[0]["goodput_bps"] for each in of[1:]]
        as_predicted = [shares[0] <= THIRD, *(share > THIRD for share in shares[1:])]
        met = [count + fit for count, fit in zip(met, as_predicted, strict=True)]
        trips = [f"{1e3 * each['rtt_s']:.0f} ms" for each in of]
        cells = [f"{of[0]['goodput_bps'] / 1e6:.2f}, {trips[0]}"]
        for share, fit, trip in zip(shares, as_predicted, trips[1:], strict=True):
            cells.append(f"{share:.2f}, {trip}" if fit else f"**{share:.2f}**, {trip}")
        lines.append(f"| {scene}, {cc} | {' | '.join(cells)} |")
    cases = len(SCENES) * len(CONTROLS)
    lines.append(f"| as predicted | | {' | '.join(f'{count} of {cases}' for count in met)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
