"""Claims end to end: run, judged, stored, written, and planted wrong values found out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pacelab.claims.evaluate import measure
from pacelab.claims.load import all_claims, parse_claim
from pacelab.claims.outcome import digest_of, load_pictures, load_store, render_store, store_path
from pacelab.claims.picture import Picture
from pacelab.claims.report import claims_page, outcomes_csv
from pacelab.claims.reproduce import reproduce
from pacelab.cli.main import main
from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run


def test_reproduce_judges_by_the_runs(claim_text: str) -> None:
    found = reproduce([parse_claim(claim_text, "x")], quick=True, jobs=1)
    outcome = found.outcomes[0]
    # the same four runs by hand
    rates = [
        run(Experiment(topology_options={"hops": hops, "wired": False}, rate_bps=2_000_000, duration_s=10.0, seed=seed))
        for seed in (1, 2)
        for hops in (1, 2)
    ]
    by_hand = [rates[0].goodput_bps / rates[1].goodput_bps, rates[2].goodput_bps / rates[3].goodput_bps]
    assert outcome["checks"][0]["mean"] == pytest.approx(sum(by_hand) / 2, rel=1e-5)
    assert outcome["verdict"] == "reproduced"
    assert outcome["seeds"] == 2
    measured = found.measured[0]
    assert measured is not None
    estimate = measure(measured, found.claims[0].checks[0].measure)
    assert estimate is not None
    assert estimate.samples == pytest.approx(by_hand)


@pytest.mark.parametrize("paper", [3.0, 1.5])
def test_reproduce_finds_out_a_planted_value(claim_text: str, paper: float) -> None:
    """One hop carries 2.0 times as much as two: neither 3 nor 1.5, though more."""
    text = claim_text.replace("paper: 2", f"paper: {paper}").replace("[1.9, 2.1]", f"[{paper * 0.95}, {paper * 1.05}]")
    assert reproduce([parse_claim(text, "x")], quick=True, jobs=1).outcomes[0]["verdict"] == "direction only"
    bare = text.replace("    direction: [1, .inf]\n", "")
    assert reproduce([parse_claim(bare, "x")], quick=True, jobs=1).outcomes[0]["verdict"] == "not reproduced"
    backwards = text.replace("direction: [1, .inf]", "direction: [-.inf, 1]")
    assert reproduce([parse_claim(backwards, "x")], quick=True, jobs=1).outcomes[0]["verdict"] == "not reproduced"


def test_reproduce_runs_reasons_in_full_mode_alone(claim_text: str) -> None:
    claim = parse_claim(claim_text + "why:\n  - {name: no RTS, options: {rts: off}}\n", "x")
    assert reproduce([claim], quick=True, jobs=1).outcomes[0]["why"] == []
    full = reproduce([claim], jobs=1).outcomes[0]
    assert [why["name"] for why in full["why"]] == ["no RTS"]
    assert full["why"][0]["checks"][0]["mean"] != full["checks"][0]["mean"]


def test_reproduce_lists_what_waits(claim_text: str) -> None:
    claim = parse_claim(claim_text + "needs: [patience]\n", "x")
    found = reproduce([claim], quick=True, jobs=1)
    assert found.outcomes[0]["verdict"] == "not run"
    assert "needs patience" in claims_page([claim], {})


def test_reproduce_results_do_not_depend_on_workers(claim_text: str) -> None:
    claim = parse_claim(claim_text, "x")
    assert reproduce([claim], quick=True, jobs=1).document() == reproduce([claim], quick=True, jobs=2).document()


def test_reproduce_writes_results_and_figures(claim_text: str, tmp_path: Path) -> None:
    found = reproduce([parse_claim(claim_text, "x")], quick=True, jobs=1)
    folder = found.write(tmp_path / "out")
    names = {path.name for path in folder.iterdir()}
    assert names == {"claims.json", "host.json", "table.csv", "fu-demo.png", "fu-demo.svg"}
    assert (folder / "fu-demo.png").read_bytes() == found.figures()["fu-demo.png"]
    header, line = outcomes_csv(found.claims, found.outcomes).splitlines()
    assert line.startswith("fu-demo,,goodput of one hop over that of two,,2.0,1.9,2.1,")
    assert len(header.split(",")) == len(line.split(","))


def test_page_says_when_an_outcome_is_stale(claim_text: str) -> None:
    claim = parse_claim(claim_text, "x")
    stored = {outcome["id"]: outcome for outcome in reproduce([claim], jobs=1).outcomes}
    assert "run it again" not in claims_page([claim], stored)
    moved = parse_claim(claim_text.replace("[1.9, 2.1]", "[1.8, 2.2]"), "x")
    assert "run it again" in claims_page([moved], stored)
    judged = parse_claim(claim_text + "judgement: as expected\n", "x")
    assert digest_of(judged) == digest_of(claim)


def test_stored_outcomes_are_of_the_claims_as_they_are() -> None:
    claims = all_claims()
    for paper in {claim.paper for claim in claims.values()}:
        for name, outcome in load_store(paper).items():
            assert outcome["mode"] == "full"
            assert outcome["digest"] == digest_of(claims[name]), f"{name}: run `pacelab reproduce {name} --docs ...`"


def test_cli_writes_the_page_with_the_stored_figures(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacelab.claims.figures.render_png", lambda picture, title: f"{picture.id}: {title}".encode())
    assert main(["claims", "--docs", "build/page.md"]) == 0
    page = Path("build/page.md").read_text("utf-8")
    assert "| [le-fig1](#le-fig1) |" in page
    shown = re.findall(r"\]\((page/.*\.png)\)", page)
    assert sorted(shown) == sorted(f"page/{path.name}" for path in Path("build/page").iterdir())
    assert shown == [f"page/{name}.png" for name, claim in all_claims().items() if claim.figure is not None]
    assert Path("build/page/lee-fig5-1.png").read_text().startswith("lee-fig5-1: Fig")


def test_store_keeps_what_it_is_given(claim_text: str) -> None:
    """A line per outcome and picture; and what is packaged is in this form."""
    found = reproduce([parse_claim(claim_text, "x")], quick=True, jobs=1)
    ((_, outcome, picture),) = found.pictures()
    document = json.loads(text := render_store({"fu-demo": outcome}, {"fu-demo": picture}))
    assert document["outcomes"] == [outcome]
    assert Picture.model_validate(document["pictures"][0]) == picture
    assert len(text.splitlines()) == 8
    for paper in {claim.paper for claim in all_claims().values()}:
        assert store_path(paper).read_bytes() == render_store(load_store(paper), load_pictures(paper))


def test_cli_reproduces_one_claim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["reproduce", "tcp-gap-buffer", "--quick", "--seeds", "1", "--jobs", "1", "--json"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0  # a verdict is no failure
    document = json.loads(capsys.readouterr().out)
    assert document["reproduce"]["outcomes"][0]["id"] == "tcp-gap-buffer"
    assert (tmp_path / "out" / "claims.json").is_file()


def test_cli_lists_claims(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--paper", "tcp-gap"]) == 0
    listing = capsys.readouterr().out
    assert "tcp-gap-fig7" in listing
    assert "fu-fig2a" not in listing
    assert main(["claims", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["claims"]) == len(all_claims())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reproduce", "nobody"], "claim 'nobody': allowed is all, a paper (fu, "),
        (["reproduce", "fu", "--quick", "--docs", "x.md"], "--docs with --quick"),
        (["reproduce", "fu", "--seeds", "0"], "--seeds 0: allowed is a whole number from 1"),
        (["claims", "--paper", "nobody"], "allowed is all, a paper"),
    ],
)
def test_cli_refuses(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
