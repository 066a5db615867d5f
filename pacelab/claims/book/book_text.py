"""What the book of claims says besides what the claims say."""

from __future__ import annotations

TITLE = "The book of claims"
SUBTITLE = "Five papers on TCP over multihop 802.11, run again."
ABSTRACT = (
    "Each claim of the five papers that can be measured was written down as a scenario, a number and a band, and "
    "then run on PaceLab's simulator of the 802.11 DCF. This book has a verdict, a value with its interval and a "
    "reason for every one of them, as the paper states its set-up and, where that is declared, as it most likely "
    "was. Few numbers come out as printed; most directions do, once the setting that the paper leaves unsaid is "
    "found: the routing protocol, the retries of the MAC, who senses whom."
)
HOW_TO_READ = (
    "A claim is one statement of a paper: a number, a curve, or a sentence. It has a scenario and checks. Its "
    "headline checks, in bold, measure the quoted sentence and decide; details, which the paper prints beside it, "
    "are judged alike, counted and shown; what the paper does not print is ours, and not counted. docs/verdicts.md "
    "has the rules in full; they were written down before the runs.",
    "Ours is the mean over the seeds, each a run of the whole scenario, and the half width of its 95 % t interval. A "
    "sentence without a number holds (◉) when the whole interval lies in its band; that something brings nothing is "
    "such a sentence, with a band around no difference. A number is reproduced (●) when it could be one more run of "
    "ours: the band of its rounding, widened by the prediction interval of our runs, holds our mean, and that "
    "prediction is narrow enough to say something. Where a number is missed and every direction is met, the verdict "
    "is direction only (◐). Else it is not reproduced (○); contradicted (⊗) where the paper's own simulator, run "
    "here, says otherwise; inconsistent (≠) where the paper's numbers contradict each other. Extensions of ours (+) "
    "and what was not yet run in full (–) are no verdicts.",
    "As stated is what the paper says, with our defaults where it is silent. As it was is one declared second "
    "set-up: what its authors most likely ran, by the period or by a calibration that says what was fitted and what "
    "was held out. Until these rules every check decided and bands were the printed rounding alone; the verdicts of "
    "that day stand beside the new ones, with what changed.",
    "Where a check fails, reasons were tested: the same scenario with one thing changed, on fewer seeds. A ✓ says "
    "that the check is met then. The judgement below weighs them. It was written after the runs; the bands were not "
    "moved.",
    "Figures have the paper's shape. Beside each stands what the paper's own figure shows, as far as its caption and "
    "text tell; we could not read numbers off it.",
)
