"""Claim files: refusals with file, line and key; and the stored numbers of full runs against new runs."""

from __future__ import annotations

import csv
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pacelab.claims import load
from pacelab.claims.load import all_claims, claims_of, papers, parse_claim, select_claims
from pacelab.claims.measures import measure
from pacelab.claims.outcome import key_of_measure, load_store
from pacelab.claims.plan import key_of, plan_claim
from pacelab.claims.reproduce import _collect, run_lean
from pacelab.errors import ConfigError
from pacelab.results.metrics import LEVEL
from pacelab.running.runner import for_each
from pacelab.running.workers import Workers

# Claim files: refusals, whose message names file, line, key and the valid values.


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_claim(text, "fu/fu-demo.yaml")
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("claim file fu/fu-demo.yaml, line ")
    return message


def test_load_reads_a_claim(claim_text: str) -> None:
    claim = parse_claim(claim_text, "fu/fu-demo.yaml")
    assert claim.id == "fu-demo"
    assert claim.checks[0].band == [1.9, 2.1]
    assert claim.scenario.grid(quick=False) == {"hops": [1, 2], "scheme": ["newreno"]}


def test_load_refuses_a_check_without_band(claim_text: str) -> None:
    message = refusal(claim_text.replace("    band: [1.9, 2.1]\n", ""))
    assert "claim file fu/fu-demo.yaml, line 14, key checks.0.band: the key is missing; add it" in message


def test_load_refuses_a_band_without_its_origin(claim_text: str) -> None:
    assert "claim file fu/fu-demo.yaml, line 14, key checks.0.band_from: the key is missing; add it" in refusal(
        claim_text.replace("    band_from: stated, twice\n", "")
    )


def test_load_refuses_a_claim_without_scenario(claim_text: str) -> None:
    start, end = claim_text.index("scenario:"), claim_text.index("checks:")
    assert "claim file fu/fu-demo.yaml, line 1, key scenario: the key is missing; add it" in refusal(
        claim_text[:start] + claim_text[end:]
    )


def test_load_refuses_a_claim_without_checks(claim_text: str) -> None:
    start, end = claim_text.index("checks:"), claim_text.index("figure:")
    assert "claim file fu/fu-demo.yaml, line 1, key checks: the key is missing; add it" in refusal(
        claim_text[:start] + claim_text[end:]
    )


def test_load_refuses_an_unknown_key_with_its_line(claim_text: str) -> None:
    message = refusal(claim_text.replace("    unit:", "").replace("    paper: 2\n", "    papper: 2\n    paper: 2\n"))
    assert "line 17, key checks.0.papper: unknown" in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("band: [1.9, 2.1]", "band: [2.1, 1.9]", "low <= high"),
        ("band: [1.9, 2.1]", "band: [1.9]", "line 18, key checks.0.band"),
        ("band: [1.9, 2.1]", "band: twice", "line 18, key checks.0.band"),
        (
            "band: [1.9, 2.1]",
            "band: [3, 4]",
            "claim file fu/fu-demo.yaml, line 14, key checks.0: paper (the number in the paper) must be "
            "within band [3.0, 4.0], not 2",
        ),
        ("role: headline", "role: vague", "line 15, key checks.0.role"),
        ("role: headline", "role: detail", "a claim needs a headline"),
        (
            "    paper: 2\n",
            "",
            "claim file fu/fu-demo.yaml, line 14, key checks.0: direction needs paper; without a number of the",
        ),
        (
            "figure:",
            "as_it_was: {name: n, source: s, options: {hops: 2}}\nfigure:",
            "claim file fu/fu-demo.yaml, line 1, key the whole: variant 'n' must not change 'hops', which is an",
        ),
        ("figure:", "as_it_was: true\nfigure:", "key as_it_was"),
        ("seeds: 2}\n  quick", "seeds: two}\n  quick", "key scenario.full.seeds"),
        ("seeds: 2}\n  quick", "seeds: 0}\n  quick", "key scenario.full.seeds"),
        (
            "of: goodput_kbps, at",
            "of: goodness, at",
            "claim file fu/fu-demo.yaml, line 16, key checks.0.measure: of must be one of goodput_kbps,",
        ),
        (
            ", compare: ratio",
            "",
            "claim file fu/fu-demo.yaml, line 16, key checks.0.measure: compare and against must be given",
        ),
        (
            "against: {hops: 2}",
            "against: {hops: 1}",
            "claim file fu/fu-demo.yaml, line 1, key the whole: check 1 compares a cell with itself; name",
        ),
        (
            "against: {hops: 2}",
            "against_flow: 0, flow: 0",
            "claim file fu/fu-demo.yaml, line 1, key the whole: check 1 compares a cell with itself; name",
        ),
        ("at: {hops: 1}", "at: {hops: 3}", "one of the scenario's values"),
        ("at: {hops: 1}, against: {hops: 2}, compare: ratio", "at: {}", "'hops' is left open"),
        (
            "id: fu-demo",
            "id: gap-demo",
            "claim file fu/fu-demo.yaml, line 1, key the whole: id must be fu-NAME, not 'gap-demo' (found",
        ),
        ("schema: 2", "schema: 1", "key schema"),
        ("axes: {hops: [1, 2]}", "axes: {hops: [1, 2], rate: [1, 2]}", "an axis and an option"),
        (
            "axes: {hops: [1, 2]}",
            "axes: {hops: [1, 2], schemes: [newreno]}",
            "claim file fu/fu-demo.yaml, line 7, key scenario: 'schemes' is neither an option nor an axis here;",
        ),
    ],
)
def test_load_refuses_bad_values(claim_text: str, old: str, new: str, said: str) -> None:
    assert old in claim_text
    assert said in refusal(claim_text.replace(old, new))


def test_load_refuses_quick_axes_that_lose_a_checked_cell(claim_text: str) -> None:
    text = claim_text.replace("{seconds: 10, seeds: 2}", "{seconds: 10, seeds: 2, axes: {hops: [1]}}")
    assert "must be one of the scenario's values, in full mode and in quick mode, not" in refusal(text)


@pytest.mark.parametrize("text", ["a: [", "a: 1\na: 2\n", "\tx", "- 1\n", "", "just text"])
def test_load_refuses_a_file_without_a_mapping(text: str) -> None:
    refusal(text)


def test_plan_names_the_claim_and_the_option(claim_text: str) -> None:
    claim = parse_claim(claim_text.replace("rate: 2", "rates: 2"), "x")
    with pytest.raises(
        ConfigError,
        match="claim fu-demo: option must be one of direction, traffic, cc, ack, few-alpha, few-min-window, phy,",
    ):
        plan_claim(claim, quick=True)


def test_select_lists_the_valid_names() -> None:
    with pytest.raises(
        ConfigError,
        match=r"claim must be all, a paper \(fu, le, lee, tcp-gap, vagp\) or an id that `pacelab claims` lists, not",
    ):
        select_claims("nobody")


@pytest.mark.parametrize("name", ["le", "le-fig1"])
def test_claims_of_one_paper_read_no_other_papers_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    documents, read = load.paper_documents, set[str]()

    def noted(paper: str, *, fast: bool = False) -> Iterator[Any]:
        read.add(paper)
        return documents(paper, fast=fast)

    monkeypatch.setattr(load, "paper_documents", noted)
    monkeypatch.setattr(load, "claims_of", load.claims_of.__wrapped__)
    assert {claim.paper for claim in select_claims(name)} == {"le"}
    assert read == {"le"}


def test_every_packaged_claim_loads_and_plans() -> None:
    claims = all_claims()
    assert len(claims) >= 98, "a claim that is not met stays, with its verdict"
    for claim in claims.values():
        assert plan_claim(claim, quick=True, seeds=1).cells


@pytest.mark.parametrize(
    "paper", [pytest.param(paper, marks=[] if paper == "le" else [pytest.mark.thorough]) for paper in papers()]
)
def test_every_variant_of_a_packaged_claim_plans(paper: str) -> None:
    for claim in claims_of(paper).values():
        for why in claim.why:
            assert plan_claim(claim, quick=True, seeds=1, variant=why).cells
        if claim.as_it_was and not claim.as_it_was.needs:
            assert plan_claim(claim, quick=True, seeds=1, variant=claim.as_it_was).cells


def test_every_packaged_claim_has_a_headline() -> None:
    for claim in all_claims().values():
        assert any(check.role == "headline" for check in claim.checks), claim.id


def test_a_claim_has_its_papers_second_set_up_or_its_own_or_none() -> None:
    claims = all_claims()
    assert claims["fu-drops"].as_it_was == claims["fu-fig7"].as_it_was
    assert claims["fu-drops"].as_it_was
    assert claims["fu-fig2b"].as_it_was is False
    assert claims["fu-table7"].as_it_was != claims["fu-table7-fairness"].as_it_was == claims["fu-drops"].as_it_was


def test_packaged_claims_are_in_the_order_of_their_numbers() -> None:
    ids = [claim.id for claim in select_claims("fu")]
    assert ids.index("fu-fig2a") < ids.index("fu-fig10a")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\n{0}---\n{0}", "claim file fu/claims.yaml: fu-demo must be a claim of fu and occur once"),
        (
            "---\n{0}---\n- 1\n",
            "claim file fu/claims.yaml, line 1: must be lines of `key: value`;"
            " `pacelab new claim NAME` writes an example",
        ),
        ("---\nschema: 2\n", "claim file fu/claims.yaml, line 3, key id: the key is missing; add it"),
        (
            "---\nschema: [\n",
            "claim file fu/claims.yaml, line 4: not valid YAML: expected the node content, but found '<stream end>'",
        ),
    ],
)
def test_load_refuses_a_papers_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, claim_text: str, text: str, said: str
) -> None:
    (tmp_path / "fu").mkdir()
    (tmp_path / "fu" / "claims.yaml").write_text("id: fu\n" + text.format(claim_text), "utf-8")
    monkeypatch.setattr(load, "DATA", tmp_path)
    with pytest.raises(ConfigError) as caught:
        load.claims_of.__wrapped__("fu")
    assert said in str(caught.value)


# Runs a sample of claims again, with a part of their seeds, and compares the results with the stored full run.
#
# Tolerance. The stored mean is over n seeds, with half width h = t(n - 1) s / sqrt(n) of its 95 % interval; ours is
# over the first k of the same seeds. If nothing changed, the two differ by chance, with standard deviation s sqrt(1 / k
# - 1 / n). Up to 4 standard deviations are accepted: with about twenty checks, one in a thousand runs of this test
# would fail by chance if the seeds were drawn again, which they are not. A check whose seeds all agree (h = 0) must
# give the same number.

SAMPLE = {
    "fu-drops": 3,
    "fu-table4": 3,
    "tcp-gap-buffer": 2,
    "vagp-capacity-tcp": 2,
    "vagp-tree-capacity": 2,
    "vagp-fig2": 2,
    "vagp-mix": 2,
}
"""Claims of every kind of traffic that take a few seconds, with the seeds to run."""
LONGEST = ("fu-drops", "fu-table4", "tcp-gap-buffer")
SIGMAS = 4.0
ROUNDED = 1e-5
"""Stored numbers have six digits."""


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] if name in LONGEST else []) for name in SAMPLE]
)
def test_a_claim_comes_out_as_it_is_stored(name: str) -> None:
    (claim,), seeds = select_claims(name), SAMPLE[name]
    stored = load_store(claim.paper)[name]["as_stated"]
    plan = plan_claim(claim, quick=False, seeds=seeds)
    runs = {key_of(experiment): experiment for cell in plan.cells for experiment in cell.experiments}
    results = dict(zip(runs, for_each(run_lean, list(runs.values()), workers=Workers(jobs=1)), strict=True))
    measured = _collect(plan, results)
    for check in claim.checks:
        now = measure(measured, check.measure)
        mean, half_width = stored["values"][key_of_measure(check.measure)]
        assert now is not None, check.what
        allowed = SIGMAS * spread(half_width, stored["seeds"], seeds) + ROUNDED * abs(mean)
        assert now.mean == pytest.approx(mean, abs=allowed), f"{name}: {check.what}"


def spread(half_width: float, total: int, part: int) -> float:
    """Standard deviation of the difference between the means over `part` of the seeds and over all of them."""
    from scipy.stats import t as student  # imported here: it takes a second in each process that collects tests

    deviation = half_width * math.sqrt(total) / float(student.ppf((1 + LEVEL) / 2, total - 1))
    return deviation * math.sqrt(1 / part - 1 / total)


@pytest.mark.usefixtures("engine")
def test_spread_of_a_part_of_the_seeds() -> None:
    """By hand: 10 seeds, s = 2: h = 2.2622 * 2 / sqrt(10) = 1.43075; two of them: 2 sqrt(1/2 - 1/10) = 1.26491."""
    assert spread(1.43075, 10, 2) == pytest.approx(1.26491, rel=1e-4)
    assert spread(0.0, 10, 2) == 0
    assert spread(1.0, 10, 10) == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("engine")
def test_a_planted_change_is_found() -> None:
    """The sample must detect changes: the numbers of another radio must not pass as the stored ones."""
    (claim,) = select_claims("fu-drops")
    mean, half_width = load_store("fu")["fu-drops"]["as_stated"]["values"][key_of_measure(claim.checks[0].measure)]
    plan = plan_claim(claim, quick=False, seeds=3)
    runs = [experiment.vary(window_pkts=4) for experiment in plan.cells[0].experiments]
    measured = _collect(plan, dict(zip(map(key_of, plan.cells[0].experiments), map(run_lean, runs), strict=True)))
    now = measure(measured, claim.checks[0].measure)
    assert now is not None
    assert abs(now.mean - mean) > SIGMAS * spread(half_width, 10, 3)


# Statements of claims about ns-2's runs on two parallel chains agree with studies/starvation.csv.

ROWS = list(csv.DictReader((Path(__file__).parents[2] / "studies" / "starvation.csv").read_text().splitlines()))


def shares(direction: str) -> dict[str, list[float]]:
    """Slower over faster flow, by set-up."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in ROWS:
        if row["direction"] == direction:
            slower, faster = sorted((int(row["first_pkts"]), int(row["second_pkts"])))
            found[row["set_up"]].append(slower / faster)
    return found


@pytest.mark.parametrize(
    ("claim", "direction"), [("tcp-gap-fig9", "up"), ("tcp-gap-fig10", "down"), ("tcp-gap-fig12", "down")]
)
def test_the_words_are_the_rows(claim: str, direction: str) -> None:
    by_set_up = shares(direction)
    means = [statistics.fmean(found) for found in by_set_up.values()]
    runs = [share for found in by_set_up.values() for share in found]
    (found,) = select_claims(claim)
    words = " ".join(found.contradicted.split())
    assert f"with {len(by_set_up)} set-ups" in words
    assert f"{min(means):.2f} to {max(means):.2f} of the faster in the mean" in words
    if direction == "down":
        assert f"in none of {len(runs)} runs less than {min(runs):.2f}" in words
    else:
        starved = {name: sum(share <= 0.2 for share in found) for name, found in by_set_up.items()}
        assert f"In {sum(starved.values())} of {len(runs)} runs it has at most 0.2, three of them" in words
        assert sum(count for name, count in starved.items() if "later" in name) == 3


# The bands of the packaged claims follow the written rules (docs/verdicts.md, "A number").

ABOUT = re.compile(r"about|around|approximately|~")


def rounded(paper: float, text: str) -> list[tuple[float, float]]:
    """The bands that the words `text` permit for the printed number: a rounding in one of its digits."""
    if ABOUT.search(text):
        digits = f"{abs(paper):e}".split("e")[0].rstrip("0").rstrip(".")
        units = [10.0 ** (math.floor(math.log10(abs(paper))) - max(0, len(digits.replace(".", "")) - 1))]
    else:
        units = [10.0**power for power in range(-6, 4)]
    return [(paper - unit / 2, paper + unit / 2) for unit in units if abs(paper / unit - round(paper / unit)) < 1e-9]


def test_bands_are_the_rounding_of_what_is_printed() -> None:
    """Checks every number with words of approximation, and every other band whose only reason is `rounding`."""
    wrong, checked = [], 0
    for claim in all_claims().values():
        for check in claim.checks:
            text = check.band_from
            if (
                check.paper is None
                or "the text has" in text
                or 'the text "about' in text
                or text.startswith("identical")
            ):
                continue  # two numbers are printed, and the band covers both
            if ABOUT.search(text) or re.fullmatch(
                r"rounding( of (\"|the percentage|0 percent|[0-9.]+ times).*)?", text
            ):
                checked += 1
                low, high = check.band
                allowed = rounded(check.paper, text)
                if not any(
                    math.isclose(low, max(first, 0.0 if low == 0 else first), abs_tol=1e-9)
                    and math.isclose(high, last, abs_tol=1e-9)
                    for first, last in allowed
                ):
                    wrong.append(f"{claim.id}: {check.what}: {check.paper} {check.band} {text}")
    assert not wrong, "\n".join(wrong)
    assert checked > 150


@pytest.mark.parametrize(
    ("paper", "text", "band"),
    [
        (0.1, "around 10 percent", (0.05, 0.15)),
        (0.2, "approximately 20 %", (0.15, 0.25)),
        (0.04, "about 4 percent", (0.035, 0.045)),
        (10, "around 10", (5, 15)),
        (250, "about 250 ms", (245, 255)),
        (3, "W* ~ 3", (2.5, 3.5)),
    ],
)
def test_rounded_by_hand(paper: float, text: str, band: tuple[float, float]) -> None:
    assert rounded(paper, text) == [pytest.approx(band)]


EXACT = re.compile(r"a count of one run|exact|stated, none|stated, \"None is|stated, no more than")
TO_A_UNIT = re.compile(r"rounding to ([0-9]+) (ms|kbit/s)")


def test_exact_numbers_and_numbers_rounded_to_a_unit_have_these_bands() -> None:
    checked = 0
    for claim in all_claims().values():
        for check in claim.checks:
            if check.paper is None:
                continue
            where = f"{claim.id}: {check.what}"
            if EXACT.match(check.band_from):
                checked += 1
                assert check.band == [check.paper, check.paper], where
            if found := TO_A_UNIT.match(check.band_from):
                checked += 1
                unit = float(found[1]) * {"ms": 1e-3, "kbit/s": 1.0}[found[2]]
                printed = unit * round(check.paper / unit)
                assert check.band == pytest.approx([printed - unit / 2, printed + unit / 2]), where
    assert checked > 25


def test_losses_of_table_3_have_the_rounding_of_both_printed_rates() -> None:
    claims = [claim for name, claim in all_claims().items() if name.startswith("fu-table3-")]
    assert len(claims) == 7
    for claim in claims:
        rates = [check.paper for check in claim.checks if check.measure.of == "goodput_kbps"][:2]
        (loss,) = [check for check in claim.checks if check.band_from == "rounding of both rates"]
        best, bounded = (float(rate) for rate in rates if rate is not None)
        assert loss.band[0] == pytest.approx(1 - (bounded + 0.5) / (best - 0.5), abs=1e-4), claim.id
        assert loss.band[1] == pytest.approx(1 - (bounded - 0.5) / (best + 0.5), abs=1e-4), claim.id


def test_rates_of_layouts_that_are_not_printed_are_ours() -> None:
    """docs/verdicts.md, "A layout that is not printed": the grids' rows, and the random networks."""
    unprinted = ("fu-table3-grid4", "fu-table3-grid8", "fu-table3-grid12", "fu-table3-random", "fu-table7")
    for claim in map(all_claims().__getitem__, (*unprinted, "tcp-gap-fig18")):
        rates = [check for check in claim.checks if check.measure.of == "goodput_kbps" and not check.measure.compare]
        rates = [check for check in rates if all(one.how != "shortfall" for one in check.measure.reduce)]
        assert {check.role for check in rates} <= {"ours"}, claim.id
        assert any(check.role == "headline" for check in claim.checks), claim.id
