"""How PaceLab gets into the virtual machine: linked from the shared folder (vm-job), or as wheels (pacelab.sh)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEMBERS = ("controller", "grading", "labs", "medium/mediumd", "medium/python")
REPORT = """
import json, sys
from importlib.metadata import entry_points, packages_distributions
from importlib.util import find_spec
points = {group: sorted(point.name for point in points) for group, points in
          ((group, entry_points(group=group)) for group in entry_points().groups) if group.startswith("pacelab.")}
packages = ("pacelab", "pacelab_pacer", "pacelab_topologies", "pacelab_controller", "pacelab_grading", "pacelab_labs")
print(json.dumps({"points": points, "origins": {name: find_spec(name).origin for name in packages}}))
"""


def project(member: str) -> dict[str, Any]:
    """The content of a distribution's pyproject.toml."""
    return tomllib.loads((ROOT / member / "pyproject.toml").read_text("utf-8"))


def test_this_file_names_every_distribution() -> None:
    assert sorted(project(".")["tool"]["uv"]["workspace"]["members"]) == sorted(MEMBERS)


def test_each_pattern_of_the_sample_finds_one_test() -> None:
    patterns = re.findall(r"-k (\w+)", (ROOT / "vm/jobs/sample.sh").read_text("utf-8"))
    texts = "".join((ROOT / f"tests/vm/{name}.py").read_text("utf-8") for name in ("check_air", "check_drop_in"))
    tests = re.findall(r"def (test_\w+)", texts)
    found = {pattern: [test for test in tests if pattern in test] for pattern in patterns}
    assert patterns
    assert {pattern: len(named) for pattern, named in found.items()} == dict.fromkeys(patterns, 1)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The Python of an environment in which vm-job has installed PaceLab twice."""
    home = tmp_path / "pacelab"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    job = (ROOT / "vm/image/usr/local/sbin/vm-job").read_text("utf-8")
    (script,) = re.findall(r"<<'PYTHON'[^\n]*\n(.*?)\nPYTHON\n", job, re.DOTALL)
    script = script.replace('"/lab', f'"{tmp_path}/lab')
    lab = tmp_path / "lab"
    lab.mkdir()
    for name in ("pyproject.toml", "pacelab", "pacer", "topologies", "controller", "grading", "labs"):
        (lab / name).symlink_to(ROOT / name)
    (lab / "build/rust-wheels").mkdir(parents=True)
    with zipfile.ZipFile(lab / "build/rust-wheels/pacelab_medium-0.1.0-cp311-abi3-linux_x86_64.whl", "w") as wheel:
        wheel.writestr("pacelab_medium/__init__.py", "")
        wheel.writestr("pacelab_medium-0.1.0.dist-info/METADATA", "Name: pacelab-medium\n")
    for _ in range(2):
        subprocess.run([home / "bin/python", "-c", script], check=True)
    return home / "bin/python"


def test_a_job_finds_every_package_and_entry_point(machine: Path, tmp_path: Path) -> None:
    ran = subprocess.run([machine, "-I", "-c", REPORT], cwd="/", capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    expected: dict[str, list[str]] = {}
    for member in (".", *MEMBERS):
        for group, points in project(member)["project"].get("entry-points", {}).items():
            expected[group] = sorted([*expected.get(group, []), *points])
    assert found["points"] == expected
    assert {"check", "grade"} <= set(expected["pacelab.commands"])
    assert {name for name, origin in found["origins"].items() if not origin.startswith(f"{tmp_path}/lab/")} == set()


def test_wheels_replace_all_that_a_job_laid_out(machine: Path) -> None:
    """An installer removes the files of RECORD. A remaining path would be a second PaceLab in the packed machine."""
    (packages,) = machine.parents[1].glob("lib/python3*/site-packages")
    listed = {
        line.partition(",")[0]
        for record in packages.glob("pacelab*.dist-info/RECORD")
        for line in record.read_text("utf-8").splitlines()
    }
    laid_out = {path.relative_to(packages).as_posix() for path in packages.glob("**/*") if path.is_file()}
    assert laid_out - listed == {"pacelab_medium/__init__.py", "pacelab_medium-0.1.0.dist-info/METADATA"}


def test_the_machine_builds_from_all_that_a_wheel_is_made_of() -> None:
    """pacelab.sh copies parts of the source tree and builds there. These parts contain all files that the
    build reads.
    """
    script = (ROOT / "vm/provision/pacelab.sh").read_text("utf-8")
    (lines,) = re.findall(r"^( +parts=.*?\n +done\n)", script, re.DOTALL | re.MULTILINE)
    ran = subprocess.run(["sh", "-euc", f'{lines}echo "$parts"'], capture_output=True, text=True, check=True)
    parts = [Path(part) for part in ran.stdout.split()]
    assert [part for part in parts if not (ROOT / part).exists()] == []
    needed = [Path("uv.lock"), Path("pyproject.toml"), Path("tools/uv.txt"), Path("medium/Cargo.lock")]
    for member in (".", *MEMBERS):
        about = project(member)
        needed += [
            Path(member, "pyproject.toml"),
            *(Path(member, name) for name in about["project"].get("license-files", [])),
        ]
        hatch = about["tool"].get("hatch", {}).get("build", {}).get("targets", {}).get("wheel", {})
        needed += [Path(member, package) for package in hatch.get("packages", [])]
        if "readme" in about["project"]:
            needed.append(Path(member, about["project"]["readme"]))
    assert [path for path in needed if not any(path.is_relative_to(part) for part in parts)] == []


def test_the_machine_installs_every_distribution() -> None:
    script = (ROOT / "vm/provision/pacelab.sh").read_text("utf-8")
    (names,) = re.findall(r'^distributions="(.*)"$', script, re.MULTILINE)
    assert names.split() == sorted(project(member)["project"]["name"] for member in (".", *MEMBERS))


@pytest.mark.skipif(not shutil.which("sh"), reason="scripts for sh")
@pytest.mark.parametrize("wheel", ["linux_x86_64", "manylinux_2_17_x86_64", "macosx_11_0_arm64"])
def test_wheels_of_another_machine_are_not_taken(wheel: str, tmp_path: Path) -> None:
    script = (ROOT / "vm/provision/pacelab.sh").read_text("utf-8")
    (choice,) = re.findall(r"^wheels=\$here/dist\n.*$", script, re.MULTILINE)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / f"pacelab_medium-0.1.0-cp311-abi3-{wheel}.whl").touch()
    code = f'here={tmp_path}; uname() {{ echo x86_64; }}; build() {{ echo built; }}\n{choice}\necho "$wheels"'
    ran = subprocess.run(["sh", "-euc", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == (f"{tmp_path}/dist" if "linux" in wheel else "built")
