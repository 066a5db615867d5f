"""Runs in the browser's Python and natively: the processor time of 200 simulated seconds with TCP-GAP, as JSON.

The first run compiles: V8 the engine, and Python its modules.
"""

from __future__ import annotations

import json
import sys
import time

from pacelab import Experiment, run


def processor_s() -> float:
    """The processor time of this process. Python's own clock counts elapsed time in a page."""
    if sys.platform != "emscripten":
        return time.process_time()
    import js

    used = js.process.cpuUsage()
    return float(used.user + used.system) / 1e6


took = []
for duration_s in (20, 200, 200):
    begun_s = processor_s()
    result = run(Experiment(topology_options={"hops": 4}, scheme="tcp-gap", duration_s=duration_s))
    took.append(processor_s() - begun_s)
print(json.dumps({"goodput_bps": result.goodput_bps, "took_s": took}))
