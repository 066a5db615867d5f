"""`pacelab rerun`, and what it stands on: from a stored config back to the experiment."""

import json
from pathlib import Path

import pytest

from pacelab import Experiment
from pacelab.cli.main import main
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import request_of
from pacelab.results.results import load_result
from tests.conformance.digests import cases

CHAIN = ["run", "chain", "--hops", "3", "--seconds", "2", "--quiet"]
CONTROL = """import pacelab


class Mine(pacelab.CongestionControl):
    def acknowledged(self, now_ns, acked_pkts, rtt_ns):
        self.window = {}

    def lost(self, now_ns, in_use_pkts):
        self.window = 1
"""
NETWORK = """version: 1
name: pair
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: a, at: [0 m, 0 m]}
  - {name: b, at: [200 m, 0 m]}
flows:
  - {from: a, to: b}
defaults: {rate: 2, seconds: 3}
"""
ELSEWHERE = ({}, {"backend": "tap"}, {"backend": "hwsim", "where": "uml"}, {"tcp_defaults": "ns2-2001"})


@pytest.mark.parametrize("options", ELSEWHERE, ids=lambda options: "-".join(options.values()) or "sim")
def test_a_config_asks_for_the_experiment_that_it_is_of(options: dict[str, str]) -> None:
    tried = 0
    for case in cases():
        try:
            experiment = Experiment(**case | options)
        except ConfigError:
            continue
        stored = json.loads(json.dumps(experiment.config()))
        assert Experiment(**request_of(stored, {})).config() == experiment.config()
        tried += 1
    assert tried > 100


def test_a_run_is_made_once_more(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHAIN, "--scheme", "tcp-gap", "--window", "9", "--out", "first"]) == 0
    assert main(["rerun", "first", "--out", "again", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == "pacelab: the same result as first, to the byte"
    for name in ("run.json", "flow-0.csv"):
        assert Path("again", name).read_bytes() == Path("first", name).read_bytes()
    assert json.loads(said.out)["run"] == json.loads(Path("first/run.json").read_text())


def test_another_seed_is_another_run(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHAIN, "--out", "first"]) == 0
    assert main(["rerun", "first", "--seed", "7", "--out", "other"]) == 0
    assert "same result" not in capsys.readouterr().err
    assert main([*CHAIN, "--seed", "7", "--out", "asked"]) == 0
    assert Path("other/run.json").read_bytes() == Path("asked/run.json").read_bytes()


def test_a_changed_result_is_told_with_what_differs(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHAIN, "--out", "first"]) == 0
    stored = Path("first/run.json")
    document = json.loads(stored.read_text())
    document["totals"]["jain"] = 0.5
    stored.write_text(json.dumps(document))
    host = Path("first/host.json")
    host.write_text(json.dumps(json.loads(host.read_text()) | {"python": "3.99.0"}))
    assert main(["rerun", "first", "--out", "again", "--quiet"]) == 1
    assert capsys.readouterr().err == ("pacelab: not the same result as first: run.json's totals; python was 3.99.0\n")


def test_files_of_ones_own_are_given_once_more(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(CONTROL.format(3))
    Path("pair.yaml").write_text(NETWORK)
    assert main(["run", "pair.yaml", "--cc", "mine.py:Mine", "--seconds", "2", "--quiet", "--out", "first"]) == 0
    assert main(["rerun", "first"]) == 2
    told = "the run's topology, 'pair.yaml', is a file of your own: give it once more, --topology FILE"
    assert capsys.readouterr().err == f"pacelab: {told}\n"
    again = ["rerun", "first", "--topology", "pair.yaml", "--cc", "mine.py:Mine", "--quiet"]
    assert main([*again, "--out", "again"]) == 0
    assert "the same result as first" in capsys.readouterr().err
    Path("mine.py").write_text(CONTROL.format(2))
    assert main([*again, "--out", "changed"]) == 1
    assert "not the same result as first: config's cc_sha256" in capsys.readouterr().err


def test_what_is_no_result_or_another_experiment_is_refused(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rerun", "nowhere"]) == 2
    assert "'nowhere': not a result folder of a run" in capsys.readouterr().err
    assert main([*CHAIN, "--out", "first"]) == 0
    assert main(["rerun", "first", "--scheme", "mine.py:Mine"]) == 2
    assert "the run's scheme, 'newreno', is no file of your own: allowed is `pacelab run`" in capsys.readouterr().err
    assert main(["rerun", "first", "--out", "first"]) == 2
    stored = Path("first/run.json")
    document = json.loads(stored.read_text())
    for damage in ({"scheme_options": None}, {"topology_options": 5}, {"seed": "one"}, {"unheard_of": 1}):
        stored.write_text(json.dumps(document | {"config": document["config"] | damage}))
        assert main(["rerun", "first"]) == 2, damage


def test_a_scheme_whose_hook_fails_again_is_a_bug_again(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No scheme of ours fails: the run is what is stored."""
    assert main([*CHAIN, "--out", "first"]) == 0
    stored = Path("first/run.json")
    document = json.loads(stored.read_text())
    document["hooks"]["failed"] = 1
    stored.write_text(json.dumps(document))
    monkeypatch.setattr("pacelab.running.runner.run", lambda *_, **__: load_result("first"))
    assert main(["rerun", "first", "--out", "again"]) == 4
