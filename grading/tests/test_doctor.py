"""The rows of grading in `pacelab doctor`."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pacelab import HostError, doctor
from pacelab_grading import doctor as rows_module
from pacelab_grading.sandbox.box import Walls

HERE = Walls(bubblewrap="/usr/bin/bwrap", own_user=True, cgroup="v2")


def test_the_rows_say_what_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "walls", lambda weak: HERE)
    monkeypatch.setattr(rows_module.similarity, "is_installed", lambda: True)
    assert rows_module.rows() == [
        ("grading: bubblewrap", True, "namespaces, one sandbox for each hand-in", ""),
        ("grading: cgroup", True, "v2 limits memory and processes", ""),
        ("grading: --similarity", True, "copydetect compares hand-ins", ""),
    ]


def test_the_rows_say_how_to_get_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = (
        "bubblewrap is not installed (`apt-get install bubblewrap`)",
        "no cgroup limits memory and processes: run as root (sudo)",
    )
    none = Walls(bubblewrap=None, own_user=False, cgroup=None, notes=notes)
    monkeypatch.setattr(rows_module, "walls", lambda weak: none)
    monkeypatch.setattr(rows_module.similarity, "is_installed", lambda: False)
    assert rows_module.rows() == [
        ("grading: bubblewrap", False, "bubblewrap is not installed", "`apt-get install bubblewrap`"),
        ("grading: cgroup", False, "no cgroup limits memory and processes", "run as root (sudo)"),
        ("grading: --similarity", False, "copydetect compares hand-ins", "pip install copydetect"),
    ]


def test_a_machine_without_any_sandbox_has_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(weak: bool) -> Walls:
        raise HostError("root cannot become another user here; grade as another user")

    monkeypatch.setattr(rows_module, "walls", refuse)
    assert [row[1] for row in rows_module.rows()[:2]] == [False, False]
    assert "grade as another user" in rows_module.rows()[0][3]
    monkeypatch.setattr(rows_module.sys, "platform", "darwin")
    elsewhere = "grade on Linux, in WSL2, a VM or a container"
    assert rows_module.rows()[0] == ("grading: bubblewrap", False, "it needs Linux", elsewhere)


def test_doctor_finds_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    ((name, value),) = project["entry-points"]["pacelab.doctor"].items()
    point = EntryPoint(name=name, value=value, group="pacelab.doctor")
    monkeypatch.setattr(doctor, "entry_points", lambda group: [point] if group == point.group else [])
    monkeypatch.setattr(rows_module, "walls", lambda weak: HERE)
    features = doctor.examine()[-3:]
    assert [feature.name for feature in features] == ["grading: bubblewrap", "grading: cgroup", "grading: --similarity"]
    assert not any(feature.required for feature in features)
