"""Runs in the browser's Python: prints the effect of an engine panic and the loaded modules as JSON."""

from __future__ import annotations

import json
import platform
import sys

import pacelab_medium

from pacelab import Experiment, run

try:
    pacelab_medium._panic()
except BaseException as error:  # PyO3's PanicException is not an Exception
    caught = [type(error).__module__, type(error).__name__, str(error)]
# The engine still works afterwards.
result = run(Experiment(topology_options={"hops": 4}, scheme="tcp-gap", duration_s=20))
heavy = sorted({"matplotlib", "numpy", "scipy"} & set(sys.modules))
print(json.dumps({"machine": platform.machine(), "panic": caught, "goodput_bps": result.goodput_bps, "heavy": heavy}))
