from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.core.pacing.paced_flow import FlowTable, FlowTableConfig, PacedFlow
from pacelab.pacer.core.segment import FlowKey

TIMEOUT_NS = 10
KEYS = [FlowKey(1, 2, port, 80) for port in range(4)]


@given(st.lists(st.tuples(st.sampled_from(["heard", "over", "asked"]), st.sampled_from(KEYS)), max_size=60))
def test_the_most_silent_goes_first_whatever_came_before(steps: list[tuple[str, FlowKey]]) -> None:
    """Against a plain dict of when each flow was heard of last, each in a moment of its own."""
    table: FlowTable[PacedFlow] = FlowTable(FlowTableConfig(idle_timeout_ns=TIMEOUT_NS))
    heard_ns: dict[FlowKey, int] = {}
    for now_ns, (step, key) in enumerate(steps):
        flow = table.by_key.get(key)
        if step == "heard":
            heard_ns[key] = now_ns
            if flow is None:
                table.add(PacedFlow(key, now_ns, 0))
            else:
                table.touch(flow, now_ns)
        elif step == "over" and flow is not None:
            del heard_ns[key]
            table.remove(flow)
        else:
            idle = table.oldest_idle(now_ns)
            silent = [key for key, at_ns in heard_ns.items() if at_ns + TIMEOUT_NS <= now_ns]
            assert (idle.key if idle else None) == (min(silent, key=heard_ns.__getitem__) if silent else None)
        assert table.idle_at_ns() == (min(heard_ns.values()) + TIMEOUT_NS if heard_ns else None)
        assert set(table.by_key) == set(heard_ns)
        assert {other.reversed(): flow.key for other, flow in table.by_reply.items()} == {key: key for key in heard_ns}
