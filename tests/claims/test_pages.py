"""What pages and labs say about the stored verdicts and numbers of claims is what the store has. Nothing is run."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pacelab.claims import outcome as judged
from pacelab.claims.load import all_claims
from pacelab.claims.model import Claim
from pacelab.claims.outcome import MET, Verdict, all_outcomes, is_place
from pacelab_pacer.core.vagp.e_model import mos

ROOT = Path(__file__).parents[2]
CLAIMS = all_claims()
OUTCOMES = all_outcomes(list(CLAIMS.values()))
WORDS = {
    word: number
    for number, word in enumerate(["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
}
QUEUES = ("queues of 200 packets", "as it was, queues of 200 packets")


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def words(name: str) -> str:
    text = re.sub(r"^#\s?", "", page(name), flags=re.MULTILINE)
    return re.sub(r"\s+", " ", text.replace("*", "").replace("`", ""))


def turned(claim: Claim) -> list[tuple[str, bool]]:
    """Each tested reason that turns the verdict of its set-up, and whether the claim is then met."""
    outcome = OUTCOMES[claim.id]
    second = {variant.name for variant in claim.why if variant.as_it_was}
    found = []
    for name, verdict in judged.tested_verdicts(claim, outcome):
        before = (outcome["as_it_was"] if name in second else outcome)["verdict"]
        if (verdict in MET) != (before in MET):
            found.append((name, verdict in MET))
    return found


# docs/verdicts.md


def test_one_change_makes_eight_claims_of_lee_hold_and_no_other_change_turns_more_than_four_verdicts() -> None:
    text = words("docs/verdicts.md")
    by_paper: dict[str, Counter[tuple[str, bool]]] = {}
    for claim in CLAIMS.values():
        by_paper.setdefault(claim.paper, Counter()).update(turned(claim))
    eight = by_paper["lee"]["7 attempts of the MAC", True]
    of = sum(claim.paper == "lee" for claim in CLAIMS.values())
    (told,) = re.findall(r"In Lee's thesis one change makes (\w+) of the (\d+) claims hold", text)
    assert (WORDS[told[0]], int(told[1])) == (eight, of)
    (told,) = re.findall(r"In the other papers no tested change turns more than (\w+) verdicts", text)
    most = 0
    for paper, counted in by_paper.items():
        names = Counter({name: 0 for name, _ in counted})
        for (name, _), count in counted.items():
            names[name] += count
        most = max(most, *names.values()) if paper != "lee" and names else most
    assert WORDS[told] == most


def test_places_that_are_met_because_the_plateau_is_the_whole_axis() -> None:
    whole = []
    for claim in CLAIMS.values():
        outcome = OUTCOMES[claim.id]
        for set_up in (outcome, outcome["as_it_was"] or {"checks": []}):
            for check, found in zip(claim.checks, set_up["checks"], strict=False):
                if not is_place(check) or check.role != "headline":
                    continue
                (axis,) = (claim.scenario.axes[one.over] for one in check.measure.reduce if one.how == "peak_at")
                ends = (found["mean"] - found["half_width"], found["mean"] + found["half_width"])
                if ends == pytest.approx((min(map(float, axis)), max(map(float, axis)))):
                    whole.append((claim.id, set_up is outcome, set_up["verdict"]))
    assert whole == [("lee-fig5-1", True, Verdict.NOT), ("lee-fig5-10", False, Verdict.NOT)]


def test_most_variants_have_fewer_seeds_than_their_claim() -> None:
    several = [variant.seeds < OUTCOMES[claim.id]["seeds"] for claim in CLAIMS.values() for variant in claim.why]
    assert sum(several) > 0.8 * len(several)
    assert "Most variants run with fewer seeds than the claim" in words("docs/verdicts.md")


def test_a_printed_mos_is_below_the_least_of_the_papers_e_model() -> None:
    assert "prints a MOS of 0.9, which is below the least MOS of that paper's own E-model" in words("docs/verdicts.md")
    worst = [mos(network_delay_ns=delay_ns, loss=share / 100) for delay_ns in (0, 10**8, 10**9) for share in range(101)]
    assert min(worst) > 0.9


# docs/vagp.md


HOPS = ("4", "3", "2")
SCHEMES = ("Reno", "TCP-GAP", "VAGP")
MEASURES = ("MOS of the calls", "goodput", "TCP from the gateway into the air")


def fig8(hops: str, scheme: str, of: dict[str, Any]) -> list[tuple[float, float, float]]:
    """The paper's number, ours and its half width, for each measure."""
    claim = CLAIMS[f"vagp-fig8-{hops}hop"]
    names = [f"{name}, {scheme}" for name in MEASURES]
    found = {check.what: (check.paper, one) for check, one in zip(claim.checks, of["checks"], strict=True)}
    return [(found[name][0] or 0.0, found[name][1]["mean"], found[name][1]["half_width"]) for name in names]


def variant(claim: str, name: str) -> dict[str, Any]:
    (found,) = [why for why in OUTCOMES[claim]["why"] if why["name"] == name]
    return dict(found)


@pytest.mark.parametrize("hops", HOPS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_tables_of_fig_8_are_the_stored_runs(hops: str, scheme: str) -> None:
    outcome = OUTCOMES[f"vagp-fig8-{hops}hop"]
    stated, was = fig8(hops, scheme, outcome), fig8(hops, scheme, outcome["as_it_was"])
    cells = [f"{stated[0][0]:.1f}, {stated[1][0]:.0f}"]
    cells += [f"{of[0][1]:.2f}, {of[1][1]:.0f}" for of in (stated, was)]
    assert " | ".join(cells) in page("docs/vagp.md")
    many = fig8(hops, scheme, variant(f"vagp-fig8-{hops}hop", QUEUES[1]))
    cells = [f"{was[0][0]:.1f}, {was[1][0]:.0f}, {was[2][0]:.0f}"]
    for (_, mean, half), (_, kbps, half_kbps), (_, sent, half_sent) in (was, many):
        cells.append(f"{mean:.2f} ± {half:.2f}, {kbps:.0f} ± {half_kbps:.0f}, {sent:.0f} ± {half_sent:.0f}")
    shown = (hops, scheme) not in (("3", "TCP-GAP"), ("2", "TCP-GAP"))  # the table of queues leaves these out
    assert (" | ".join(cells) in page("docs/vagp.md")) == shown


def test_the_sentences_about_large_queues_are_the_stored_runs() -> None:
    text = words("docs/vagp.md")
    both = [claim.id for claim in CLAIMS.values() if QUEUES[1] in (why.name for why in claim.why)]
    one = [claim.id for claim in CLAIMS.values() if QUEUES[0] in (why.name for why in claim.why)]
    assert "Eight claims also run with 200 packets (--queue 200) as a variant, seven of them in both set-ups" in text
    assert (len(both), len(set(both) & set(one))) == (8, 7)

    def mean(claim: str, what: str, name: str | None) -> float:
        of = OUTCOMES[claim]["as_it_was"] if name is None else variant(claim, name)
        found = {check.what: one["mean"] for check, one in zip(CLAIMS[claim].checks, of["checks"], strict=True)}
        return float(found[what])

    trips = [mean("vagp-rtt", "mean round trip, Reno", name) for name in (QUEUES[1], None)]
    assert f"Reno's round trips become {trips[0]:.0f} ms instead of {trips[1]:.0f} ms" in text
    delays = [mean("vagp-fig4", "network delay of voice beside TCP, window 32", name) for name in (QUEUES[1], None)]
    assert f"the voice packets beside TCP becomes {delays[0]:.0f} ms instead of {delays[1]:.0f}" in text
    checks = variant("vagp-fig8-4hop", QUEUES[1])["checks"]
    kept = {check.what: one["verdict"] for check, one in zip(CLAIMS["vagp-fig8-4hop"].checks, checks, strict=True)}
    assert kept["MOS of the calls, TCP-GAP"] == Verdict.REPRODUCED
    reno = fig8("4", "Reno", variant("vagp-fig8-4hop", QUEUES[1]))
    sent = f"sends {reno[2][0]:.0f} kbit/s for {reno[1][0]:.0f}, ours {reno[2][1]:.0f} for {reno[1][1]:.0f}"
    assert sent in text


def test_vagps_printed_mos_is_met_over_two_to_four_hops_and_beside_five_variants() -> None:
    told = "VAGP has the printed MOS over two to four hops and beside five TCP variants"
    assert told in words("docs/vagp.md")
    for claim, what in (
        *((f"vagp-fig8-{hops}hop", "MOS of the calls, VAGP") for hops in HOPS),
        ("vagp-shares", "MOS of the calls"),
    ):
        checks = zip(CLAIMS[claim].checks, OUTCOMES[claim]["as_it_was"]["checks"], strict=True)
        (verdict,) = [found["verdict"] for check, found in checks if check.what == what]
        assert verdict == Verdict.REPRODUCED, claim
    shares = OUTCOMES["vagp-shares"]["as_it_was"]["checks"]
    assert f"({shares[0]['mean']:.2f} at {shares[1]['mean']:.0f} kbit/s; paper 3.8 and 627)" in words("docs/vagp.md")


# Labs


def test_lab_2_has_the_verdict_of_figure_2c() -> None:
    text = words("labs/pacelab_labs/masters/lab2_window.py")
    assert 'The verdict for this figure is "not reproduced". The main reason is the chain of 4 hops' in text
    claim, outcome = CLAIMS["fu-fig2c"], OUTCOMES["fu-fig2c"]
    assert outcome["verdict"] == outcome["as_it_was"]["verdict"] == Verdict.NOT
    for set_up in (outcome, outcome["as_it_was"]):
        (four,) = [one for check, one in zip(claim.checks, set_up["checks"], strict=True) if "at 4 hops" in check.what]
        assert (four["mean"], four["half_width"]) == (1, 0), "the plateau of 2 % is a window of one packet"
        heads = zip(claim.checks, set_up["checks"], strict=True)
        missed = {check.what for check, one in heads if check.role == "headline" and one["verdict"] == Verdict.NOT}
        assert {"best window at 4 hops"} <= missed <= {"best window at 4 hops", "best window at 24 hops"}
