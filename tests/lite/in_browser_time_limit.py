"""Runs in the browser's Python, which has no threads: user code that returns, and user code that does not;
prints JSON.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from pacelab import Experiment, run
from pacelab.air import congestion
from pacelab.user_code.messages import UserCodeError
from pacelab_labs.exercise import call_limited

CONTROL = """\
import pacelab

class Steady(pacelab.CongestionControl):
    def acknowledged(self, now_ns, acked_pkts, rtt_ns): self.window = 4.0
    def lost(self, now_ns, in_use_pkts): pass

class Endless(Steady):
    def acknowledged(self, now_ns, acked_pkts, rtt_ns):
        while True: pass
"""


def endless() -> None:
    """A student's function."""
    while True:
        pass


congestion.TIME_LIMIT_S = 1.0
Path("mine.py").write_text(CONTROL)
goodput_bps = run(Experiment(cc="mine.py:Steady", duration_s=5)).goodput_bps
check = call_limited(endless, {}, limit_s=0.5).failure
began_s = time.monotonic()
try:
    run(Experiment(cc="mine.py:Endless", duration_s=5))
    error = ""
except UserCodeError as caught:
    error = str(caught)
took_s = time.monotonic() - began_s
print(json.dumps({"goodput_bps": goodput_bps, "check": check, "error": error, "took_s": took_s}))
