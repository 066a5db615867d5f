"""A bad value of a setting has one message: on the command line, in Python, in a topology file, and in a plan."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pacelab.cli.main import main
from pacelab.domains import Real, Whole
from pacelab.emulation.compile import compile_plan
from pacelab.emulation.plan import dump_plan, read_plan
from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.options.settings import SETTINGS, Option
from pacelab.schemes import HookSettings

NETWORK = """
version: 1
name: pair
ranges: {{decode: 250 m, sense: 550 m}}
nodes: [{{name: a, at: [0 m, 0 m]}}, {{name: b, at: [200 m, 0 m]}}]
flows: [{{from: a, to: b}}]
defaults: {{{name}: {text}}}
"""
IN_PLANS = {item.name for item in fields(HookSettings)}


def bad_values() -> list[Any]:
    """A text in place of another type, an unknown name, and a number out of range if there is a range."""
    found: list[Any] = []
    for option in SETTINGS:
        found.append(pytest.param(option, "four!", "four!", id=f"{option.field}-wrong"))
        if isinstance(option.domain, Whole | Real):
            too_much = option.domain.high + 1 if isinstance(option.domain, Whole) else option.domain.high * 2
            found.append(pytest.param(option, too_much, option.domain.show(too_much), id=f"{option.field}-range"))
    return found


@pytest.mark.parametrize(("option", "value", "text"), bad_values())
def test_a_bad_value_gets_one_message_everywhere(
    option: Option, value: Any, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError) as raised:
        Experiment(**{option.field: value})
    # Python writes some values in another form than the command line, and the message ends with that form: `True`,
    # bit/s.
    said = str(raised.value).partition("; they are written ")[0]
    assert said.startswith(f"{option.flag} must be {option.domain.allowed}, not ")
    if option.flag.startswith("--"):
        assert main(["run", "chain", f"{option.flag}={text}"]) == 2
        assert capsys.readouterr().err == f"pacelab: {said}\n"
        if option.field != "direction":
            file = tmp_path / "net.yaml"
            name = option.flag.removeprefix("--")
            file.write_text(NETWORK.format(name=name, text=json.dumps(text)), encoding="utf-8")
            with pytest.raises(ConfigError) as raised:
                Experiment(topology=str(file))
            assert str(raised.value) == f"{file}:7: defaults.{name}: {said.removeprefix(option.flag).lstrip()}"
    if option.field in IN_PLANS:
        document = json.loads(dump_plan(compile_plan(Experiment(backend="tap", topology_options={"hops": 2}))))
        document["scheme"]["settings"][option.field] = value
        with pytest.raises(ConfigError) as raised:
            read_plan(json.dumps(document).encode())
        assert str(raised.value).partition("; they are written ")[0] == f"plan: {said}"
