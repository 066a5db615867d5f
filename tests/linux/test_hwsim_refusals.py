"""Back end hwsim where something is missing: one line that says what to do."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tap_runs import PACELAB, ROOT, why_not

from pacelab.doctor import examine
from pacelab.errors import HostError
from pacelab.hosts import machine
from pacelab.hosts.network import radios
from pacelab.hosts.network.radios import Hwsim, _attribute

pytestmark = pytest.mark.skipif(why_not("tap") == "needs Linux", reason="needs Linux")


def test_kernel_without_the_module_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(radios, "FAMILY", "NO_SUCH_FAMILY")
    monkeypatch.setattr(radios, "load_module", lambda: None)
    with pytest.raises(HostError, match=r"this kernel has no mac80211_hwsim: sudo modprobe mac80211_hwsim"):
        Hwsim()


@pytest.mark.parametrize(
    ("code", "said"), [(-1, "Operation not permitted; run as root"), (-12, "Cannot allocate memory; see the kernel's")]
)
def test_radio_that_cannot_be_made_says_why(code: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hwsim, "_ask", _answering(code))
    with Hwsim() as hwsim, pytest.raises(HostError, match=said):
        hwsim.new_radio("42:50:4c:00:00:01")


def test_number_of_a_new_radio_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hwsim, "_ask", _answering(7))
    with Hwsim() as hwsim:
        hwsim.new_radio("42:50:4c:00:00:01")


def _answering(code: int) -> Any:
    def ask(_self: Hwsim, kind: int, _command: int, _attributes: list[tuple[int, bytes]]) -> tuple[int, bytes]:
        return (0, b"\x06\x00\x01\x00\x1c\x00\x00\x00") if kind == 16 else (code, b"")  # family 28

    return ask


def test_rates_are_told_as_nl80211_nests_them() -> None:
    # linux/nl80211.h: band 0 { NL80211_TXRATE_LEGACY (1): 2 Mbit/s in units of 500 kbit/s, padded to 4 bytes }
    legacy = _attribute(1, bytes([4]))
    assert _attribute(0, legacy) == bytes.fromhex("0c0000000500010004000000")


@pytest.mark.parametrize(("loaded", "exit_code", "present"), [(True, 1, True), (False, 0, True), (False, 1, False)])
def test_doctor_knows_radios_that_are_loaded_or_can_be(
    loaded: bool, exit_code: int, present: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "mac80211_hwsim"
    if loaded:
        place.mkdir()
    monkeypatch.setattr(machine, "LOADED", place)
    monkeypatch.setattr(machine.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, exit_code))
    assert machine.has_hwsim() is present


@pytest.mark.skipif(machine.has_hwsim(), reason="this kernel has mac80211_hwsim")
def test_doctor_and_run_agree_that_there_are_no_radios(tmp_path: Path) -> None:
    feature = next(feature for feature in examine() if feature.name == "back end hwsim")
    assert not feature.present
    assert "mac80211_hwsim" in feature.detail
    assert "sudo modprobe mac80211_hwsim" in feature.mend


@pytest.mark.kernel
@pytest.mark.skipif(why_not("tap") is not None or machine.has_hwsim(), reason="needs root, and no mac80211_hwsim")
def test_run_without_the_module_fails_with_one_line_and_no_folder(tmp_path: Path) -> None:
    command = [*PACELAB, "run", "chain", "--hops", "1", "--backend", "hwsim", "--out", str(tmp_path / "run")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "sudo modprobe mac80211_hwsim" in done.stderr
    assert not (tmp_path / "run").exists()
