"""What docs/mobility.md says of its walk through three gateways."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pacelab import Experiment, run

PAGE = (Path(__file__).parents[2] / "docs" / "mobility.md").read_text("utf-8")
KEYS, WALK = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.usefixtures("engine")
def test_a_walk_through_three_gateways_loses_a_part_of_two_seconds(in_tmp: Path) -> None:
    Path("walk.yaml").write_text(WALK)
    result = run(Experiment(topology="walk.yaml"))
    (whole,) = re.findall(r"it carries (\d+) kbit/s", PAGE)
    assert round(result.goodput_bps / 1e3) == int(whole)
    each = [round(bps / 1e3) for bps in result.series["flows"][0]["goodput_bps"]]
    seconds = dict(zip(result.series["t_s"], each, strict=True))
    (first, second) = re.findall(r"it carries (\d+) and (\d+)", PAGE)[0]
    assert [seconds[35.0], seconds[75.0]] == [int(first), int(second)]
    assert min(kbps for at, kbps in seconds.items() if at not in (35.0, 75.0)) > 1200


def test_the_example_names_every_way_to_walk() -> None:
    from pacelab.topologies.mobility import MobilityPart

    names = {field.alias or name for name, field in MobilityPart.model_fields.items()}
    assert set(re.findall(r"^  (?:# )?([a-z-]+):", KEYS, re.MULTILINE)) == names
