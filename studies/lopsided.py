"""Lee's asymmetric chains in other sizes: a long and a short flow that cross at a node (for `held_out.py`)."""

import pacelab
from pacelab_topologies.kind import DECODE_M, SENSE_M, radio
from pacelab_topologies.shapes.lee import RATE_BPS, STEP_M, settings


def topology(*, long_hops: int = 6, short_hops: int = 2) -> pacelab.Topology:
    """Flow 0 runs along x over `long_hops`, flow 1 along y over `short_hops` (both at least 2); they share (0, 0)."""
    across = [place - long_hops // 2 for place in range(long_hops + 1)]
    upwards = [place - short_hops // 2 for place in range(short_hops + 1)]
    line = [radio(f"x{place}", place * STEP_M, 0) for place in across]
    rest = [radio(f"y{place}", 0, place * STEP_M) for place in upwards if place]
    return pacelab.Topology(
        name="lopsided",
        description=f"{long_hops} hops across {short_hops}",
        nodes=(*line, *rest),
        flows=(
            pacelab.Flow(src=0, dst=long_hops),
            pacelab.Flow(src=len(line), dst=len(line) + len(rest) - 1),
        ),
        decode_m=DECODE_M,
        sense_m=SENSE_M,
        defaults=settings(rate_bps=RATE_BPS),
    )
