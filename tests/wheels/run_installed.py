"""Wheels for Linux, installed as a user would, away from the source and without a compiler (`make wheels-test`).

The one for arm64 runs in QEMU's emulation, on Debian's Python for arm64: the same configuration and seed must give the
same bytes as on x86-64.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements.txt"
DEBIAN = "bookworm"
DEBIANS_PYTHON = "3.11"
MANYLINUX = [f"manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)]
"""What Debian's C library of that release can run."""

RUNS = {
    "chain": "chain --seconds 10",
    "gateway": "two-gateways --scheme tcp-gap --routing aodv --seconds 5",
    "errors": "indoor --radio sinr --phy 802.11g --rate 6 --seconds 3",
    "layout": "random --radio sinr --seconds 3",
    "calls": "string --hops 2 --voice 2 --scheme vagp --seconds 5",
    "control": "chain --hops 3 --cc cubic --scheme lred --seconds 3",
}
"""What goes through the mathematical functions, through Python's hooks, and through drawn layouts."""

Pacelab = Callable[..., subprocess.CompletedProcess[str]]


def run(command: list[str | Path], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it with nothing of the source tree, of a compiler or of this Python in sight."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", **variables}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}: {ran.stderr}"
    return ran


def pip(*words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *words], check=True)


@pytest.fixture(scope="module")
def native(wheel_for: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Pacelab:
    """`pacelab` of this machine's wheel."""
    wheel, place = wheel_for(f"linux-{platform.machine()}"), tmp_path_factory.mktemp("native")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip("--python", place / "bin/python", "install", wheel)  # with the newest of all that it asks for, as README says
    return lambda words, folder: run([place / "bin/pacelab", *words.split()], folder, PATH=str(place / "bin"))


@pytest.fixture(scope="module")
def debian() -> Path:
    """The files of a Debian for arm64 with Python, kept under build/; nothing of it has run."""
    if platform.machine() != "x86_64":
        pytest.skip("another processor is emulated on x86-64 alone")
    for tool, package in (("qemu-aarch64-static", "qemu-user-static"), ("mmdebstrap", "mmdebstrap arch-test")):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} here: apt install {package}")
    place = ROOT / "build" / f"arm64-{DEBIAN}"
    if not place.exists():
        unfinished = place.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        make = [
            "mmdebstrap",
            "-q",
            "--variant=extract",
            "--skip=check/qemu",
            "--arch=arm64",
            "--include=python3,libstdc++6",
        ]
        subprocess.run([*make, DEBIAN, unfinished], check=True)
        unfinished.rename(place)
    return place


@pytest.fixture(scope="module")
def emulated(debian: Path, wheel_for: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Pacelab:
    """`pacelab` of the wheel for arm64, on an emulated processor."""
    wheel, place = wheel_for("linux-aarch64"), tmp_path_factory.mktemp("arm64")
    there = ["--python-version", DEBIANS_PYTHON, "--only-binary=:all:", "--target", place]
    there += [word for name in MANYLINUX for word in ("--platform", name)]
    pip("install", *there, "--require-hashes", "-r", REQUIREMENTS)
    pip("install", *there, "--no-deps", "--upgrade", wheel)
    python = ["qemu-aarch64-static", "-L", debian, debian / "usr/bin" / f"python{DEBIANS_PYTHON}"]
    return lambda words, folder: run(
        [*python, "-c", "import sys; from pacelab.cli.main import main; sys.exit(main())", *words.split()],
        folder,
        PYTHONPATH=str(place),
    )


def features(pacelab: Pacelab, folder: Path) -> dict[str, dict[str, object]]:
    """What `pacelab doctor` says."""
    return {feature["name"]: feature for feature in json.loads(pacelab("doctor --json", folder).stdout)["features"]}


def test_wheel_here_has_all_that_the_simulator_needs(native: Pacelab, tmp_path: Path) -> None:
    found = features(native, tmp_path)
    assert all(feature["present"] for feature in found.values() if feature["required"])
    assert found["live demos"]["present"]


def test_wheel_here_does_the_main_job(native: Pacelab, tmp_path: Path) -> None:
    ran = native("lab", tmp_path)
    assert "28 networks, " in ran.stderr
    assert "tcp-gap" in ran.stdout
    made = {path.name: path.stat().st_size for path in (tmp_path / "runs" / "lab-1").iterdir()}
    assert set(made) == {"compare.json", "goodput.png", "goodput.svg", "host.json", "table.csv"}
    rows = json.loads((tmp_path / "runs/lab-1/compare.json").read_text("utf-8"))["rows"]
    assert len(rows) == 28 * 4
    assert all(row["goodput_bps"]["mean"] > 0 for row in rows)


def test_wheel_here_exports_a_live_demonstration(native: Pacelab, tmp_path: Path) -> None:
    native("demo hidden --export hidden.html", tmp_path)
    assert (tmp_path / "hidden.html").stat().st_size > 500_000


def test_wheel_for_arm64_has_all_that_the_simulator_needs(emulated: Pacelab, tmp_path: Path) -> None:
    found = features(emulated, tmp_path)
    assert str(found["python"]["detail"]).endswith("on Linux aarch64")
    assert all(feature["present"] for feature in found.values() if feature["required"])
    assert found["live demos"]["present"]


@pytest.mark.parametrize("name", RUNS)
def test_wheel_for_arm64_gives_the_same_bytes(native: Pacelab, emulated: Pacelab, tmp_path: Path, name: str) -> None:
    for pacelab, out in ((native, "here"), (emulated, "there")):
        pacelab(f"run {RUNS[name]} --quiet --out {out} --pcap {out}.pcapng", tmp_path)
    here, there = tmp_path / "here", tmp_path / "there"
    names = sorted(path.name for path in here.iterdir())
    assert names == sorted(path.name for path in there.iterdir())
    differ = [
        name for name in names if name != "host.json" and (here / name).read_bytes() != (there / name).read_bytes()
    ]
    assert differ == []
    assert here.with_suffix(".pcapng").read_bytes() == there.with_suffix(".pcapng").read_bytes()
    machines = [json.loads((place / "host.json").read_text("utf-8"))["machine"] for place in (here, there)]
    assert machines == ["x86_64", "aarch64"]


def test_wheel_for_arm64_compares_and_draws(native: Pacelab, emulated: Pacelab, tmp_path: Path) -> None:
    for pacelab, out in ((native, "here"), (emulated, "there")):
        pacelab(f"compare chain --hops 1..2 --seeds 2 --seconds 2 --jobs 1 --quiet --out {out}", tmp_path)
    for name in ("compare.json", "table.csv"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes(), name
    assert (tmp_path / "there" / "goodput.png").read_bytes().startswith(b"\x89PNG")


def test_wheel_for_arm64_has_a_mediumd_that_starts(
    debian: Path, wheel_for: Callable[[str], Path], tmp_path: Path
) -> None:
    shutil.unpack_archive(wheel_for("linux-aarch64"), tmp_path, "zip")
    (program,) = tmp_path.glob("*.data/scripts/mediumd")
    program.chmod(0o755)
    said = run(["qemu-aarch64-static", "-L", debian, program, "--help"], tmp_path)
    assert said.stdout.startswith("usage: mediumd ")
