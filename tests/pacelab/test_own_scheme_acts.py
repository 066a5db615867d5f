"""A scheme of one's own, as FILE.py:NAME, is said to have acted when it did, whatever its hooks count."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment
from pacelab.running.runner import run

pytestmark = pytest.mark.usefixtures("engine")

BORROWED = """
from pacelab import Scheme
from pacelab.pacer.core.tcp_gap.gateway import TcpGapGateway

MINE = Scheme(name="mine", summary="a gateway of mine", source="me", gateway=lambda settings: TcpGapGateway())
"""
COUNTING = """
from pacelab import Scheme
from pacelab.pacer.core.contract import Drop, EventMask, Forward


class Every:
    event_mask = EventMask.SEGMENT

    def __init__(self):
        self.seen, self.actions = 0, []

    def handle(self, now_ns, event):
        self.seen += 1
        handle = event.segment.handle
        self.actions.append(Drop(handle, "mine") if self.seen % 50 == 0 else Forward(handle))

    def poll_action(self):
        return self.actions.pop(0) if self.actions else None

    def deadline(self):
        return None

    def handle_timeout(self, now_ns):
        pass

    def counters(self):
        return {"every_fiftieth": self.seen // 50}


MINE = Scheme(name="mine", summary="drops every 50th", source="me", gateway=lambda settings: Every())
"""


@pytest.mark.parametrize("text", [BORROWED, COUNTING], ids=["hooks of ours", "counters of its own"])
def test_an_own_scheme_says_that_it_acted(text: str, in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(text)
    result = run(Experiment(topology_options={"hops": 2}, direction="down", scheme="mine.py:MINE", duration_s=5))
    assert result.run["hooks"]["failed"] == 0, result.notes
    assert result.run["hooks"]["actions"] > 0
    assert not [note for note in result.notes if "never acted" in note]


def test_a_congestion_control_among_schemes_is_told_its_option(in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text("import pacelab\n\nclass Mine(pacelab.CongestionControl): ...\n")
    with pytest.raises(ConfigError, match=r"^--scheme 'mine.py:Mine': it is a congestion control: --cc mine.py:Mine$"):
        Experiment(scheme="mine.py:Mine")


def test_an_own_scheme_that_ends_python_fails_as_by_any_exception(in_tmp: Path) -> None:
    (in_tmp / "mine.py").write_text(COUNTING.replace("self.seen += 1\n", "raise SystemExit(3)\n"))
    result = run(Experiment(topology_options={"hops": 2}, direction="down", scheme="mine.py:MINE", duration_s=1))
    assert result.run["hooks"]["failed"] == 1
    assert any("SystemExit: 3" in note for note in result.notes)
