"""Claims end to end: run, judged, stored and written; planted wrong values are found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import pacelab.claims.reproduce as module
from pacelab.claims.load import all_claims, parse_claim
from pacelab.claims.measures import measure
from pacelab.claims.outcome import (
    all_outcomes,
    change_of,
    digest_of,
    key_of_measure,
    load_pictures,
    load_store,
    outcome_of,
    render_store,
    store_path,
    verdict_before,
)
from pacelab.claims.picture import Picture
from pacelab.claims.report import claims_page, outcomes_csv
from pacelab.claims.reproduce import reproduce
from pacelab.cli.main import main
from pacelab.cli.new import write_new
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.results.metrics import estimate
from pacelab.results.results import RunResult
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
    """One hop carries 2.0 times as much as two: neither 3 nor 1.5 passes, although it is more."""
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
    assert "needs patience" in claims_page([claim], {"fu-demo": found.outcomes[0]})


@pytest.mark.thorough
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
    assert line.startswith("fu-demo,,goodput of one hop over that of two,headline,,2.0,1.9,2.1,")
    assert len(header.split(",")) == len(line.split(","))


def test_stored_numbers_are_judged_by_the_claim_as_it_is(claim_text: str) -> None:
    """A changed band is judged again. A changed set-up or measure counts as not run."""
    (stored,) = reproduce([parse_claim(claim_text, "x")], jobs=1).stored
    assert outcome_of(parse_claim(claim_text, "x"), stored)["verdict"] == "reproduced"
    moved = parse_claim(claim_text.replace("[1.9, 2.1]", "[2.4, 2.5]").replace("paper: 2", "paper: 2.4"), "x")
    assert outcome_of(moved, stored)["verdict"] == "direction only"
    for old, new in (("seconds: 20", "seconds: 21"), ("rate: 2", "rate: 11"), ("compare: ratio", "compare: change")):
        assert outcome_of(parse_claim(claim_text.replace(old, new), "x"), stored)["verdict"] == "not run"


def test_the_second_set_up_is_run_in_both_modes(claim_text: str) -> None:
    setup = "as_it_was: {name: no RTS, source: the year, options: {rts: off}}\n"
    claim = parse_claim(claim_text + setup, "x")
    for quick in (True, False):
        outcome = reproduce([claim], quick=quick, jobs=1).outcomes[0]
        assert outcome["as_it_was"]["seeds"] == 2
        assert outcome["as_it_was"]["checks"][0]["mean"] != outcome["checks"][0]["mean"]
    waits = parse_claim(claim_text + setup.replace("}}", "}, needs: [patience]}"), "x")
    outcome = reproduce([waits], quick=True, jobs=1).outcomes[0]
    assert (outcome["verdict"], outcome["as_it_was"]["verdict"]) == ("reproduced", "not run")


def test_stored_numbers_are_of_the_claims_as_they_are() -> None:
    claims = all_claims()
    for paper in {claim.paper for claim in claims.values()}:
        for name, stored in load_store(paper).items():
            claim, again = claims[name], f"{name}: run `pacelab reproduce {name} --docs ...`"
            assert stored["as_stated"]["digest"] == digest_of(claim), again
            keys = {key_of_measure(check.measure) for check in claim.checks}
            assert set(stored["as_stated"]["values"]) == keys, again
            if stored["as_it_was"] is not None:
                assert claim.as_it_was, again
                assert stored["as_it_was"]["digest"] == digest_of(claim, claim.as_it_was), again


def test_cli_writes_the_page_with_the_stored_figures(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacelab.claims.figures.render_png", lambda picture, title: f"{picture.id}: {title}".encode())
    assert main(["claims", "--docs", "build/page.md"]) == 0
    page = Path("build/page.md").read_text("utf-8")
    assert "| [le-fig1](#le-fig1) |" in page
    shown = re.findall(r"\]\((page/.*\.png)\)", page)
    assert sorted(shown) == sorted(f"page/{path.name}" for path in Path("build/page").iterdir())
    assert shown == [f"page/{name}.png" for name, claim in all_claims().items() if claim.figure is not None]
    assert Path("build/page/lee-fig5-1.png").read_text().startswith("lee-fig5-1: Fig")


def test_a_reproduction_that_cannot_be_stored_is_not_run(
    in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For example, a wheel that another user installed. Before, hours of full runs were lost at the end."""
    monkeypatch.setattr(module, "reproduce", lambda *_given, **_options: pytest.fail("it ran"))
    Path("a-file").write_text("")
    monkeypatch.setattr("pacelab.claims.outcome.DATA", Path("a-file"))
    assert main(["reproduce", "fu-drops", "--docs", "page.md", "--quiet"]) == 2
    told = "pacelab: --docs 'a-file/fu/results.json': cannot write there (Not a directory); use a writable folder\n"
    assert capsys.readouterr().err == told
    assert main(["reproduce", "fu-drops", "--docs", "a-file/page.md", "--quiet"]) == 2
    assert "--docs 'a-file/page.md': cannot write there" in capsys.readouterr().err


def test_store_keeps_what_it_is_given(claim_text: str) -> None:
    """One line per outcome and picture. The packaged files have this form."""
    found = reproduce([parse_claim(claim_text, "x")], quick=True, jobs=1)
    ((_, _, picture),) = found.pictures()
    (stored,) = found.stored
    document = json.loads(text := render_store({"fu-demo": stored}, {"fu-demo": picture}))
    assert document["outcomes"] == [stored]
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


@pytest.mark.parametrize("seeds", [1, 2])
def test_that_one_seed_has_no_interval_is_reported(
    seeds: int, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim, _ = write_new("claim", "mine", in_tmp)
    claim.write_text(claim.read_text().replace("seconds: 10, warmup: 1", "seconds: 0.5, warmup: 0"))
    assert main(["reproduce", "mine.yaml", "--quick", "--seeds", str(seeds), "--jobs", "1"]) == 0
    assert ("one seed has no interval" in capsys.readouterr().err) == (seeds == 1)


def test_notes_of_a_users_claims_runs_are_reported(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claim, _ = write_new("claim", "mine", in_tmp)
    text = claim.read_text().replace("seconds: 10, warmup: 1", "seconds: 0.5, warmup: 0")
    claim.write_text(text.replace("rate: 2}", "rate: 2, cc: cubic}"))  # refused, because its traffic is UDP
    assert main(["reproduce", "mine.yaml", "--quick", "--jobs", "1"]) == 0
    assert "note: congestion control cubic never acted: no flow of this run takes it\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            "topology: hidden",
            "topology: gone.py",
            "claim own-mine: cannot read topology 'gone.py' (No such file or directory); give the path of a",
        ),
        (
            "rate: 2}",
            "rate: 2, hops: 3}",
            "claim own-mine: option must be one of direction, traffic, cc, ack, few-alpha, few-min-window, phy,",
        ),
        (
            "of: goodput_kbps",
            "of: goodput_kbps, flow: 2",
            "claim own-mine: check 1: flow must be a number from 0 to 1, not 2",
        ),
        (
            "of: goodput_kbps",
            "of: goodput_kbps, between: [60, 90]",
            "claim own-mine: check 1: no interval of 1 s ends between 60 and 90 s (the run ends at 10 s); change",
        ),
        (
            "of: goodput_kbps",
            "of: queue_mean_pkts, node: n9",
            "claim own-mine: check 1: node must be one of n0, n1, n2, not 'n9'",
        ),
        (
            "of: goodput_kbps",
            "of: link_drops, link: [n0, n9]",
            "claim own-mine: check 1: node must be one of n0, n1, n2, not 'n9'",
        ),
    ],
)
def test_a_claim_that_cannot_run_is_reported_with_the_cause(
    before: str, after: str, told: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim, _ = write_new("claim", "mine", in_tmp)
    options = claim.read_text().replace("options: {", "options: {arms: 4, " if "gone" in after else "options: {")
    claim.write_text(options.replace(before, after))
    assert main(["reproduce", "mine.yaml", "--quick"]) == 2
    assert told in capsys.readouterr().err


def test_cli_lists_claims(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--paper", "tcp-gap"]) == 0
    listing = capsys.readouterr().out
    assert listing.startswith("Claims by verdict")
    assert "tcp-gap-fig7" in listing
    assert "fu-fig2a" not in listing
    assert main(["claims", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["claims"]
    assert [claim["id"] for claim in listed] == list(all_claims())
    for claim in listed:
        verdicts = claim["verdicts"]
        assert set(verdicts) == {"as_stated", "as_it_was"}
        for one in filter(None, verdicts.values()):
            assert set(one) == {"verdict", "seeds", "seconds", "headline", "details"}
            assert one["headline"] or one["verdict"] == "not run"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["reproduce", "nobody"],
            "claim must be all, a paper (fu, le, lee, tcp-gap, vagp), an id that `pacelab claims` lists, or FILE.yaml",
        ),
        (
            ["reproduce", "fu", "--quick", "--docs", "x.md"],
            "--docs stores the outcomes of full runs; leave --quick and --seeds out",
        ),
        (["reproduce", "fu", "--seeds", "0"], "--seeds must be a whole number from 1 to 10000, not 0"),
        (
            ["claims", "--paper", "nobody"],
            "claim must be all, a paper (fu, le, lee, tcp-gap, vagp) or an id that `pacelab claims` lists, not",
        ),
        (
            ["report", "mine.yaml"],
            "claim must be all, a paper (fu, le, lee, tcp-gap, vagp) or an id that `pacelab claims` lists, not",
        ),
    ],
)
def test_cli_refuses(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_the_cell_whose_interval_reaches_furthest_is_taken(claim_text: str) -> None:
    """Not the mean of the best cell per seed, which is larger than any cell's mean."""
    extra = """\
  - {what: any, measure: {of: goodput_kbps, reduce: [{how: HOW, over: hops}]}, band: [0, .inf], band_from: f}
  - {what: one, measure: {of: goodput_kbps, at: {hops: 1}}, band: [0, .inf], band_from: f}
  - {what: two, measure: {of: goodput_kbps, at: {hops: 2}}, band: [0, .inf], band_from: f}
figure:"""
    for how, best in (("highest", 2), ("lowest", 3)):
        text = claim_text.replace("figure:", extra.replace("HOW", how))
        checks = reproduce([parse_claim(text, "x")], quick=True, jobs=1).outcomes[0]["checks"]
        assert checks[2]["mean"] > checks[3]["mean"]
        assert (checks[1]["mean"], checks[1]["half_width"]) == (checks[best]["mean"], checks[best]["half_width"])
    with pytest.raises(
        ConfigError,
        match=r"claim file x, line 21, key checks\.1\.measure: reduce: highest, lowest and sampled must be the last",
    ):
        parse_claim(text.replace("{how: lowest, over: hops}", "{how: lowest, over: hops}, {how: mean, over: x}"), "x")


def test_a_sample_of_cells_has_mean_and_interval_over_the_cells(claim_text: str) -> None:
    extra = """\
  - {what: any, measure: {of: goodput_kbps, reduce: [{how: sampled, over: hops}]}, band: [0, .inf], band_from: f}
  - {what: one, measure: {of: goodput_kbps, at: {hops: 1}}, band: [0, .inf], band_from: f}
  - {what: two, measure: {of: goodput_kbps, at: {hops: 2}}, band: [0, .inf], band_from: f}
figure:"""
    text = claim_text.replace("figure:", extra)
    _, sampled, one, two = reproduce([parse_claim(text, "x")], quick=True, jobs=1).outcomes[0]["checks"]
    expected = estimate([one["mean"], two["mean"]])
    assert (sampled["mean"], sampled["half_width"]) == pytest.approx((expected.mean, expected.half_width), rel=1e-4)
    assert sampled["half_width"] > one["half_width"] + two["half_width"]


def test_stored_runs_of_both_set_ups_have_equal_seeds() -> None:
    """docs/verdicts.md, "Seeds"."""
    for name, outcome in all_outcomes(list(all_claims().values())).items():
        if outcome["as_it_was"] is not None:
            assert outcome["seeds"] == outcome["as_it_was"]["seeds"], name


def test_every_claim_of_then_has_its_verdict_of_before_and_what_changed() -> None:
    claims = [claim for claim in all_claims().values() if verdict_before(claim)]
    assert len(claims) == 98, "before.json stays as it is: what is claimed since has no verdict of before"
    outcomes = all_outcomes(claims)
    for claim in claims:
        assert verdict_before(claim) in ("reproduced", "direction only", "not reproduced"), claim.id
        said = change_of(claim, outcomes[claim.id])
        assert (said == "As before.") <= (verdict_before(claim) == outcomes[claim.id]["verdict"]), claim.id
    assert [verdict_before(claim) for claim in claims].count("reproduced") == 2
    since = claims[0].model_copy(update={"id": "since", "changed": ""})
    assert (verdict_before(since), change_of(since, outcomes[claims[0].id])) == ("", "Claimed since.")


@pytest.mark.usefixtures("engine")
def test_an_interrupted_reproduction_stores_its_runs_reports_it_and_resumes(
    claim_text: str, in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("x.yaml").write_text(claim_text.replace("paper: fu", "paper: own").replace("fu-demo", "own-demo"))
    command = ["reproduce", "x.yaml", "--quick", "--jobs", "1"]
    ran: list[Experiment] = []
    real = module.run_lean

    def third_is_interrupted(experiment: Experiment) -> RunResult:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(experiment)
        return real(experiment)

    monkeypatch.setattr(module, "run_lean", third_is_interrupted)
    assert main([*command, "--out", "never"]) == 130
    kept = "2 of 4 runs are kept in runs/unfinished-claims; repeat the command to continue"
    said = f"pacelab: {kept}\npacelab: interrupted\n"
    assert capsys.readouterr().err == said
    assert [path.name for path in Path("runs").iterdir()] == ["unfinished-claims"]
    monkeypatch.setattr(module, "run_lean", lambda experiment: ran.append(experiment) or real(experiment))
    assert main([*command, "--out", "resumed"]) == 0
    assert (len(ran), list(Path("runs").iterdir())) == (4, [])
    assert main([*command, "--out", "at-once"]) == 0
    for file in ("claims.json", "table.csv"):
        assert Path("resumed", file).read_bytes() == Path("at-once", file).read_bytes()
