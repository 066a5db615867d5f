"""`pacelab lab`: its runs, the conclusions from intervals, and the output files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pacelab.cli.main import main
from pacelab.findings import fairness, limits, speed, studies
from pacelab.findings.wording import faster, percent, rows_of, slower, spread
from pacelab.grid.comparison import Comparison, compare


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer points and seeds, and short runs."""
    monkeypatch.setattr(studies, "HOPS", (2, 3))
    monkeypatch.setattr(studies, "WINDOWS_PKTS", (32, 64))
    monkeypatch.setattr(studies, "SEEDS", 2)
    monkeypatch.setattr(studies, "SECONDS", 12.0)


Ran = tuple[Any, Any]


@pytest.fixture(scope="module")
def ran_once() -> dict[str, Ran]:
    return {}


@pytest.fixture
def run_once(ran_once: dict[str, Ran], small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same studies run once for all tests."""
    original = studies.run_studies

    def run(grids: Any, **options: Any) -> Ran:
        work = repr(grids)
        if work not in ran_once:
            ran_once[work] = original(grids, **options)
        return ran_once[work]

    monkeypatch.setattr(studies, "run_studies", run)


@pytest.mark.usefixtures("engine", "run_once")
def test_lab_writes_a_picture_for_each_finding(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    folder = in_tmp / "runs" / "lab-1"
    names = {path.name for path in folder.iterdir()}
    assert names == {
        *("fairness.png", "fairness.svg", "speed.png", "speed.svg", "limits.png", "limits.svg"),
        *("findings.txt", "host.json", "fairness.json", "fairness.csv", "chains.json", "chains.csv"),
        *("window.json", "window.csv", "link-red.json", "link-red.csv"),
    }
    assert (folder / "findings.txt").read_text("utf-8").strip() == out.strip()
    assert [line.partition(":")[0] for line in out.splitlines() if line[:1].isalpha()] == [
        "Fairness",
        "Speed",
        "Limits",
    ]
    assert "runs of 12 s with 2 seeds" in err.splitlines()[0]
    assert "fairness.png, speed.png, limits.png" in err.splitlines()[-1]


@pytest.mark.usefixtures("engine", "run_once")
def test_lab_json_is_one_document(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--jobs", "1", "--json", "--quiet", "--out", "lab"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    document = json.loads(out)
    assert list(document) == ["findings", "studies", "host"]
    assert [finding["name"] for finding in document["findings"]] == ["fairness", "speed", "limits"]
    assert len(document["studies"]["chains"]["rows"]) == 2 * 2 * 2


@pytest.mark.usefixtures("engine", "small")
def test_a_study_is_the_comparison_of_its_grid() -> None:
    grid = studies.studies(7)["window"]
    found, _ = studies.run_studies({"window": grid}, jobs=1)
    same = compare(grid.base, schemes=list(grid.schemes), axes=grid.axes, seeds=2, jobs=1)
    assert found["window"].compare == same.compare


def test_lab_announces_its_size() -> None:
    told = studies.announce(studies.studies(1), 2)
    assert told.startswith("220 runs of 60 s with 5 seeds: about ")
    assert told.endswith(" s on 2 cores")


# Conclusions from intervals. The numbers are invented.


def row(scheme: str, gain: float, half: float | None, **point: Any) -> dict[str, Any]:
    return {
        "scheme": scheme,
        "point": point,
        "gain": gain,
        "gain_half_width": half,
        "goodput_bps": {"mean": 500e3 * (1 + gain), "half_width": 2e3},
        "rtt_mean_s": 0.01 * point.get("window_pkts", 10),
    }


def test_only_significant_differences_count() -> None:
    rows = [row("s", gain, 0.1, hops=hops) for hops, gain in ((1, -0.3), (2, 0.05), (3, 0.2), (4, 0.4), (6, -0.1))]
    assert [one["point"]["hops"] for one in faster(rows)] == [3, 4]
    assert [one["point"]["hops"] for one in slower(rows)] == [1]
    assert spread(faster(rows), "gains") == "gains 20 % ± 10 % (3 hops) to 40 % ± 10 % (4 hops)"
    assert spread(slower(rows), "loses") == "loses 30 % ± 10 % over 1 hop"
    assert percent(row("s", -0.0123, 0.004)) == "1.2 % ± 0.4 %"
    assert faster([row("s", 0.5, None)]) == slower([row("s", -0.5, None)]) == []


def comparison(rows: list[dict[str, Any]], runs: list[dict[str, Any]] | None = None) -> Comparison:
    return Comparison(
        compare={"rows": rows, "runs": runs or [], "schemes": ["newreno", "tcp-gap"], "config": {"window_pkts": 64}},
        host={},
    )


@pytest.mark.parametrize(
    ("trips_s", "told"),
    [
        (
            (0.5, 2.0, 60.0, 900),
            "rises from 0.50 s to 2.00 s, because the pacing queue holds the window of each of them: 60 of 64 packets "
            "are on their way on average.",
        ),
        ((0.5, 2.0, 12.0, 900), "rises from 0.50 s to 2.00 s."),
        ((0.5, 2.0, 60.0, 0), "rises from 0.50 s to 2.00 s."),
        ((0.5, 0.3, 60.0, 900), "falls from 0.50 s to 0.30 s."),
        ((0.5, 0.5, 60.0, 900), "does not change significantly (from 0.50 s to 0.50 s)."),
    ],
)
def test_fairness_names_the_price_and_a_reason_that_the_runs_show(
    trips_s: tuple[float, float, float, int], told: str
) -> None:
    open_pkts, actions = trips_s[2:]
    shares = {"newreno": [40e3, 400e3, 50e3, 400e3], "tcp-gap": [200e3, 250e3, 210e3, 260e3]}
    jain = {"newreno": (0.60, 0.61, 0.62), "tcp-gap": (0.98, 0.99, 0.99)}
    rows = [
        row(scheme, gain, half) | {"jain": {"mean": sum(jain[scheme]) / 3, "samples": jain[scheme]}}
        for scheme, gain, half in (("newreno", 0.0, None), ("tcp-gap", 0.04, 0.03))
    ]
    runs = [
        {
            "scheme": scheme,
            "hook_actions": actions,
            "flows": {
                "goodput_bps": shares[scheme],
                "rtt_mean_s": [0.3, trip, 0.3, trip + noise],
                "cwnd_mean_pkts": [5.0, open_pkts, 5.0, open_pkts],
            },
        }
        for scheme, trip in zip(shares, trips_s[:2], strict=True)
        for noise in (0.0, 0.01, -0.01)
    ]
    first, second = fairness.find(comparison(rows, runs)).sentences
    assert first == (
        "Four flows cross at a gateway. NewReno gives them 40, 400, 50 and 400 kbit/s (Jain's index 0.61). "
        "TCP-GAP gives them 200, 250, 210 and 260 kbit/s (0.99), and 4 % ± 3 % more in total."
    )
    assert second.endswith(told)


def test_speed_gives_a_reason_only_for_gains_with_fewer_broken_links() -> None:
    def chains(gain: float, broken: tuple[int, int] = (12, 2)) -> Comparison:
        schemes = ("newreno", "tcp-gap")
        points = [(hops, scheme) for hops in (3, 4) for scheme in schemes]
        rows = [
            row(scheme, gain if scheme != "newreno" else 0.0, 0.1, hops=hops, routing="aodv") | {"notes": []}
            for hops, scheme in points
        ]
        runs = [
            {"scheme": scheme, "link_failures": broken[scheme != "newreno"] + more}
            for _, scheme in points
            for more in (0, 1)
        ]
        parts = {"rows": rows, "runs": runs, "schemes": list(schemes), "seeds": [1, 2], "notes": []}
        return Comparison(compare=parts, host={})

    run = {"scheme": "newreno", "rtt_mean_s": 0.4}
    runs = [run | {"scheme": scheme, "rtt_mean_s": trip} for scheme, trip in (("newreno", 0.4), ("lred", 0.2))]
    lred = Comparison(
        compare={
            "rows": [row("newreno", 0.0, None, hops=12), row("lred", 0.05, 0.1, hops=12)],
            "runs": [one for one in runs for _ in range(2)],
            "schemes": ["newreno", "lred"],
            "seeds": [1, 2],
            "notes": [],
        },
        host={},
    )
    for row_ in lred.rows:
        row_["notes"] = []
    gains, losses = (speed.find(chains(gain), lred).sentences for gain in (0.3, -0.3))
    assert gains[0].endswith(
        "searches for a new route: over 4 hops 12.5 times in a run with NewReno, and 2.5 times with TCP-GAP. "
        "Pacing avoids these losses."
    )
    assert "AODV takes" not in speed.find(chains(0.3, broken=(12, 12)), lred).sentences[0]
    assert "AODV takes" not in losses[0]
    assert losses[0] == "With AODV routes, TCP-GAP loses 30 % ± 10 % (3 hops) to 30 % ± 10 % (4 hops)."
    assert gains[1].startswith(
        "Under its own paper's conditions, Link RED makes no significant difference on any of 1 chains. "
        "Over 12 hops its round trip is 0.20"
    )


def test_limits_name_the_largest_significant_loss_and_the_law() -> None:
    chains = [
        row("tcp-gap", gain, 0.02, hops=hops, routing="static")
        for hops, gain in ((1, -0.01), (3, -0.3), (4, -0.1), (6, 0.2))
    ]
    window = [row(scheme, 0.0, 0.1, window_pkts=count) for scheme in ("newreno", "tcp-gap") for count in (32, 64)]
    first, law = limits.find(comparison(chains), comparison(window)).sentences
    assert first == (
        "With static routes, TCP-GAP is slower than NewReno on 2 of 4 chains, by 30 % ± 2 % over 3 hops; "
        "it gains 20 % ± 2 % over 6 hops."
    )
    assert "windows of 32 and 64 packets, the round trip of TCP-GAP is 0.32 and 0.64 s" in law
    assert law.endswith("At each of these windows, TCP-GAP carries 500 kbit/s, and NewReno 500 kbit/s.")
    window[0]["goodput_bps"] = {"mean": 480e3}
    assert limits.find(comparison(chains), comparison(window)).sentences[1].endswith("and NewReno 480 to 500 kbit/s.")
    assert rows_of(window, "newreno", window_pkts=32)[0]["rtt_mean_s"] == 0.32
