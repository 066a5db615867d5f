"""Fits the radio of [vagp], its preset and number of attempts, to three places of the paper.

    .venv/bin/python studies/vagp_radio.py           make all runs, then print the table as Markdown

The fit uses four hops: eleven calls are good and twelve are too many (Sec. III-A), TCP alone has 1350 kbit/s (Sec.
III-A), and Reno beside seven calls has 309 kbit/s at a MOS of 2.5 (Fig. 8). A number of calls is good if their mean MOS
is 3.6, the only definition of capacity. All other results are held out: TCP-GAP, VAGP, Figs. 5, 8, 10 and 11.

The error is the mean of five: |ln| of the two rates, the difference of Reno's MOS, and 1 each if eleven calls are too
many or twelve are not.
"""

from __future__ import annotations

import argparse
import math
from itertools import product
from typing import Any

from pacelab.experiment.experiment import Experiment
from pacelab.results.metrics import Estimate, estimate
from pacelab.running.runner import run

SEEDS = range(1, 6)
SECONDS, WARMUP_S = 60.0, 10.0
RADIOS = ("ns2", "standard")
ATTEMPTS = (7, 8, 9, 10, 12, 20)
GOOD_MOS = 3.6
TCP_KBPS, RENO_KBPS, RENO_MOS = 1350, 309, 2.5


def measured(radio: str, attempts: int, voice: int, tcp: int) -> tuple[Estimate | None, Estimate]:
    """Mean MOS and goodput in kbit/s over the seeds."""
    totals = [
        run(
            Experiment(
                topology="string",
                topology_options={"hops": 4, "voice": voice, "tcp": tcp},
                cc="reno",
                radio=radio,
                retry_short=attempts,
                retry_long=attempts,
                duration_s=SECONDS,
                warmup_s=WARMUP_S,
                seed=seed,
            )
        ).run["totals"]
        for seed in SEEDS
    ]
    quality = estimate([one["mos_mean"] for one in totals]) if voice else None
    return quality, estimate([one["goodput_bps"] / 1000 for one in totals])


def line(radio: str, attempts: int) -> str:
    """A row of the table."""
    shown: list[Any] = []
    error = 0.0
    for calls, good in ((11, True), (12, False)):
        quality, _ = measured(radio, attempts, calls, 0)
        assert quality is not None
        error += (quality.mean >= GOOD_MOS) != good
        shown.append(_shown(quality, ".2f"))
    _, alone = measured(radio, attempts, 0, 3)
    quality, beside = measured(radio, attempts, 7, 3)
    assert quality is not None
    error += (
        abs(math.log(alone.mean / TCP_KBPS)) + abs(math.log(beside.mean / RENO_KBPS)) + abs(quality.mean - RENO_MOS)
    )
    shown += [_shown(alone, ".0f"), _shown(quality, ".2f"), _shown(beside, ".0f")]
    return f"| {radio} | {attempts} | {' | '.join(shown)} | {error / 5:.3f} |"


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print("| radio | attempts | 11 calls | 12 calls | TCP alone | Reno: MOS | kbit/s | error |")
    print("|---" * 8 + "|")
    for radio, attempts in product(RADIOS, ATTEMPTS):
        print(line(radio, attempts), flush=True)


def _shown(value: Estimate, digits: str) -> str:
    return f"{value.mean:{digits}} ± {value.half_width or 0.0:{digits}}"


if __name__ == "__main__":
    main()
