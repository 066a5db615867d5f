"""README's sentence on speed, written from what a bench measured: `bench/bench.py --readme`."""

import re
from collections.abc import Mapping
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
WORDS = (
    "Speed, CPU per delivered packet side by side (`make bench`, 2 cores, `make guided`): {aodv_chain} times "
    "ns-2\nand {static_chain} times ns-3 on a 7-hop chain, {gap_chain} times ns-2 with TCP-GAP's Python in the loop, "
    "{random_layout} times\nns-2 on 120 nodes with 8 flows."
)
STANDS = re.compile(r"Speed, CPU per delivered packet .*? with 8 flows\.", re.DOTALL)


def sentence(medians: Mapping[str, float]) -> str:
    """Of the medians by the names of duels.py's functions; ValueError where one was skipped."""
    shown = {name: f"{median:.0f}" if median >= 10 else f"{median:.2g}" for name, median in medians.items()}
    try:
        return WORDS.format(**shown)
    except KeyError as missing:
        raise ValueError(f"{missing.args[0]} was not measured: README's sentence needs ns-2 and ns-3") from None


def write(medians: Mapping[str, float], readme: Path = README) -> None:
    """Put the sentence in its place; ValueError where README has none."""
    text, count = STANDS.subn(lambda _: sentence(medians), readme.read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{readme}: {count} sentences on speed; there must be one")
    readme.write_text(text, encoding="utf-8")
