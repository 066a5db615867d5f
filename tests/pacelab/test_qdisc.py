"""--qdisc and --ecn: what they refuse, and how results store them."""

from __future__ import annotations

from typing import Any

import pytest

from pacelab.errors import ConfigError
from pacelab.experiment.experiment import Experiment


def test_a_run_with_drop_tail_queues_stores_neither() -> None:
    stored = Experiment(qdisc="pfifo", ecn=False).config()
    assert not {"qdisc", "ecn"} & stored.keys()


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"qdisc": "red"}, "--qdisc must be one of pfifo, codel, fq_codel, fq, not 'red'"),
        ({"ecn": True}, "--ecn on needs a queue that marks packets: --qdisc codel or fq_codel, not pfifo"),
        ({"ecn": True, "qdisc": "fq"}, "--ecn on needs a queue that marks packets: --qdisc codel or fq_codel, not fq"),
        (
            {"priority": True, "qdisc": "codel"},
            "--qdisc must be pfifo with --priority on, which reorders the queue, not codel",
        ),
        (
            {"backend": "tap", "qdisc": "codel"},
            "--backend tap: --qdisc must be pfifo on real hosts, not codel; use --backend sim",
        ),
        (
            {"backend": "hwsim", "ecn": True, "scheme": "lred-ecn"},
            "--backend hwsim: --ecn must be off on real hosts, whose queues do not mark packets; use --backend sim",
        ),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Experiment(**options)
    assert str(refused.value) == refusal
