"""`--builder mininet-wifi`: what its process is told, what is said without it, and the real one where installed."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from tap_runs import goodputs_kbps, run, start, why_not

from pacelab.errors import HostError
from pacelab.experiment.experiment import Experiment
from pacelab.hosts.compile import compile_plan
from pacelab.hosts.mininet import mininet_wifi
from pacelab.hosts.mininet.mininet_wifi import description, find_python
from pacelab.hosts.network.tcp_settings import quiet

LIMIT_S = 200


def why_not_here() -> str | None:
    try:
        find_python()
    except HostError as error:
        return str(error)
    return why_not("hwsim")


REASON = why_not_here()
installed = pytest.mark.skipif(REASON is not None, reason=REASON or "")


def test_network_is_told_stations_and_wired_hosts() -> None:
    experiment = Experiment(
        **{"backend": "hwsim", "builder": "mininet-wifi", "phy": "802.11g", "rate_bps": 6_000_000},
        **{"topology": "chain", "topology_options": {"hops": 1, "wired_hops": 1}},
    )
    told = description(compile_plan(experiment))
    assert [host["name"] for host in told["hosts"]] == ["n0", "n1", "host"]
    assert [host["wireless"] for host in told["hosts"]] == [True, True, False]
    assert told["hosts"][1]["position_m"] == [200.0, 0.0]
    assert (told["hosts"][1]["mac"], told["hosts"][1]["ip"]) == ("42:50:4c:00:00:01", "10.77.0.2/32")
    assert (told["air"]["mode"], told["air"]["channel"]) == ("g", 1)
    json.dumps(told)


def test_interface_that_was_there_before_is_made_quiet() -> None:
    """A station that forwards back out of its radio must not tell the sender of a shorter way: there is none."""
    told = quiet("air0")
    assert told["net.ipv4.conf.air0.send_redirects"] == told["net.ipv4.conf.air0.accept_redirects"] == 0


def test_missing_program_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mininet_wifi.shutil, "which", lambda name, path: None if name == "hwsim_mgmt" else f"/x/{name}")
    with pytest.raises(
        HostError, match=r"no program hwsim_mgmt in .*: sudo sh vm/provision/mininet-wifi\.sh"
    ) as caught:
        find_python()
    assert "\n" not in str(caught.value)


@pytest.mark.kernel
@installed
def test_tcp_gap_crosses_a_chain_of_stations(tmp_path: Path) -> None:
    document = run(
        *("chain", "--hops", "2", "--rate", "2", "--scheme", "tcp-gap", "--seconds", "6"),
        *("--builder", "mininet-wifi", "--out", str(tmp_path / "run")),
        back_end="hwsim",
    )
    points = document["run"]["hooks"]["points"]
    assert [(point["point"], point["node"]) for point in points] == [("gateway", 2), ("sender", 0)]
    assert goodputs_kbps(document)[0] > 100
    assert document["run"]["config"]["backend_options"]["builder"] == "mininet-wifi"


@pytest.mark.kernel
@installed
def test_shell_is_mininet_wifis_and_a_moved_station_is_out_of_reach(tmp_path: Path) -> None:
    done = tmp_path / "done"
    lines = [
        "n0 ping -c 3 n2",
        "py type(n0).__mro__[1].__name__",
        'py n2.setPosition("9000,0,0")',
        "n0 ping -c 2 -W 1 n2",
        "host ip -4 -o addr show wire0",
        f"sh touch {done}",
    ]
    # From a file: what comes down a pipe, the command line hands on to the program at the node.
    (tmp_path / "commands").write_text("\n".join(lines) + "\n")
    options = ("--hops", "2", "--rate", "2", "--backend", "hwsim", "--builder", "mininet-wifi")
    process = start(
        *("shell", "chain", *options),
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT},
        env=os.environ | {"TERM": "dumb"},
    )
    assert process.stdin is not None
    process.stdin.write(f"source {tmp_path}/commands\n")
    process.stdin.flush()
    until = time.monotonic() + LIMIT_S
    while not done.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.2)
    text, _ = process.communicate("exit\n", timeout=60)
    assert process.returncode == 0, text
    received = [line.split()[3] for line in text.splitlines() if "packets transmitted" in line]
    assert received == ["3", "0"], text
    assert "Station" in text
    assert "10.77.0.4/32" in text
