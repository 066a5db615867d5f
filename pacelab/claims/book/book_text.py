"""What the book of claims says besides what the claims say."""

from __future__ import annotations

TITLE = "The book of claims"
SUBTITLE = "Five papers on TCP over multihop 802.11, run again."
ABSTRACT = (
    "Each claim of the five papers that can be measured was written down as a scenario, a number and a band before "
    "the first run, and then run on PaceLab's simulator of the 802.11 DCF. This book has a verdict, a value with its "
    "interval and a reason for every one of them. Few numbers come out as printed; most directions do, once the "
    "setting that the paper leaves unsaid is found: the routing protocol, the retries of the MAC, who senses whom."
)
HOW_TO_READ = (
    "A claim is one statement of a paper: a number, a curve, or a sentence. It has a scenario and one or more checks. "
    "A check is a number with the paper's value, where it prints one, and a band in which ours would count as the "
    "same. The band comes from what the paper prints, most often from the rounding of its last digit, which is strict: "
    "a simulator that differs from the paper's by 2 % fails where the paper prints three digits. Checks that were "
    "added after a first run say so.",
    "Ours is the mean over the seeds, each a run of the whole scenario, and the half width of its 95 % t interval. "
    "A check is ● reproduced when the mean lies in the band, or the interval overlaps it and is narrow (at most a "
    "tenth of the paper's value or of the band). It is ◐ direction only when it lies outside but the whole interval "
    "goes the paper's way; this is the best verdict for what is known from a figure or a sentence alone, since the "
    "figures' numbers are not in the texts. Else it is ○ not reproduced. A claim has the worst verdict of its checks: "
    "the one that decides it stands in the table of its paper, the count of those that pass beside it.",
    "Where a check fails, reasons were tested: the same scenario with one thing changed, on fewer seeds. A ✓ says "
    "that the check passes then. The judgement below weighs them. It was written after the runs; the bands were not "
    "moved.",
    "Figures have the paper's shape. Beside each stands what the paper's own figure shows, as far as its caption and "
    "text tell; we could not read numbers off it.",
)
