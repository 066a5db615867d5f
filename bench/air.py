"""Air configurations (medium/README.md, version 1) of the layouts measured here: preset ns2, 802.11b, RTS on."""

import json

from layout import Flow, Layout

CHAIN_HOPS = 7
SPACING_M = 200.0


def config(
    of: Layout, *, seconds: float, rate_bps: int, window_pkts: int = 32, routing: str = "static", seed: int = 1
) -> str:
    """Backlogged NewReno flows over `of`, as JSON."""
    return json.dumps(
        {
            "version": 1,
            "seed": seed,
            "duration_s": float(seconds),
            "warmup_s": 0.0,
            "series_interval_s": 1.0,
            "tap": False,
            "radio": {
                "preset": "ns2",
                "basic_rate_bps": 1_000_000,
                "data_rate_bps": rate_bps,
                "rts_threshold_bytes": 0,
                "short_retry_limit": 7,
                "long_retry_limit": 4,
                "queue_pkts": 50,
                "mac_ack_rate": "basic",
                "propagation": {"kind": "two-ray", "capture_db": 10.0},
            },
            "headers": "ns2",
            "nodes": [
                {"name": f"n{i}", "wireless": True, "position_m": list(position)}
                for i, position in enumerate(of.positions_m)
            ],
            "wired": [],
            "routing": routing,
            "flows": [_flow(i, flow, window_pkts) for i, flow in enumerate(of.flows)],
        }
    )


def one_active_chain(nodes: int) -> Layout:
    """A chain of 7 hops with a flow, and idle nodes in rows of 8 above it: the activity does not depend on `nodes`."""
    columns = CHAIN_HOPS + 1
    return Layout(
        positions_m=tuple((SPACING_M * (i % columns), SPACING_M * (i // columns)) for i in range(nodes)),
        flows=(_chain_flow(0),),
    )


def many_active_chains(nodes: int, *, flows: int | None = None) -> Layout:
    """Chains of 7 hops, 2 km apart, with a flow each, or in the first `flows`: the activity grows as `nodes`."""
    columns = CHAIN_HOPS + 1
    chains = nodes // columns
    return Layout(
        positions_m=tuple((SPACING_M * (i % columns), 2000.0 * (i // columns)) for i in range(chains * columns)),
        flows=tuple(_chain_flow(columns * i) for i in range(chains if flows is None else flows)),
    )


def _chain_flow(first: int) -> Flow:
    return Flow(src=first, dst=first + CHAIN_HOPS, start_s=0.0, hops=CHAIN_HOPS)


def _flow(number: int, flow: Flow, window_pkts: int) -> dict[str, object]:
    ends = {"id": number, "src": flow.src, "dst": flow.dst, "start_s": flow.start_s}
    tcp = {"kind": "tcp", "segment_bytes": 1460, "window_pkts": window_pkts, "cc": "newreno"}
    return ends | tcp | {"initial_window": 2, "min_rto_s": 0.2, "ack_every": 1}
