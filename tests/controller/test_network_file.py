"""The file of `--network`: what is wrong in it is named, and what people write is understood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacelab.controller.commands import read_network
from pacelab.controller.errors import InputError


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "Expecting property name"),
        ("[]", "allowed is an object with names, switches, picture"),
        ('{"switchs": ["1"]}', "'switchs': allowed is one of names, switches, picture"),
        ('{"switches": "0000000000000001"}', "switches: allowed is a list"),
        ('{"switches": [1]}', "switches: 1: allowed are a switch's up to 16 hexadecimal digits"),
        ('{"switches": ["-1"]}', "switches: '-1'"),
        ('{"names": {"10.0.0.300": "host"}}', "names: '10.0.0.300'"),
        ('{"names": {"1": 1}}', "names: allowed is an object of texts"),
        ('{"picture": 5}', "picture: allowed is an object"),
    ],
)
def test_a_wrong_network_file_is_told_by_what_is_wrong_in_it(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text(content)
    with pytest.raises(InputError) as refused:
        read_network(file)
    assert str(refused.value).startswith(f"--network {file}: ")
    assert said in str(refused.value)


def test_a_network_file_names_switches_as_people_write_them(tmp_path: Path) -> None:
    file = tmp_path / "network.json"
    file.write_text(json.dumps({"switches": ["A", "0x1"], "names": {"A": "GA", "10.0.0.5": "host"}}))
    known = read_network(file)
    assert known["switches"] == [10, 1]
    assert known["names"] == {"000000000000000a": "GA", "10.0.0.5": "host"}
