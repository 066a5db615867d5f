"""`--medium stock`: what the machine's wmediumd is told, and which program is none."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyroute2", reason="needs Linux")

from pacelab.errors import HostError
from pacelab.experiment.experiment import Experiment
from pacelab.hosts.compile import compile_plan
from pacelab.hosts.network import stock
from pacelab.hosts.plan import Plan


def chain() -> Plan:
    options = {"hops": 2, "wired": False}
    experiment = Experiment(topology="chain", topology_options=options, backend="hwsim", medium="stock", rts=False)
    return compile_plan(experiment)


def test_file_names_each_station_and_lets_neighbours_alone_hear_each_other() -> None:
    # config.c: links are (from, to, dB over noise), mirrored; 400 m apart is out of 250 m
    assert stock.configuration(chain()) == (
        'ifaces: { ids = [ "42:50:4c:00:00:00", "42:50:4c:00:00:01", "42:50:4c:00:00:02" ]; };\n'
        'model: { type = "snr"; links = ( (0, 1, 30), (0, 2, -30), (1, 2, 30) ); };\n'
    )


def test_medium_that_is_not_there_or_is_our_own_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stock, "SAFE_PATH", str(tmp_path))
    with pytest.raises(HostError, match=r"no program wmediumd in .*: install wmediumd"):
        stock.find_program()
    program = tmp_path / "wmediumd"
    program.write_text("#!/bin/sh\necho wmediumd of mediumd 0.1.0\n")
    program.chmod(0o755)
    with pytest.raises(HostError, match=r"is PaceLab's own"):
        stock.find_program()
    program.write_text("#!/bin/sh\necho Version: 0.3.1\n")
    assert stock.find_program() == program


def test_stock_medium_can_only_be_asked_for_what_the_kernel_counts() -> None:
    with pytest.raises(HostError, match=r"cannot do 'set_position': --medium own can"):
        stock.StockMedium(chain()).call("set_position")
