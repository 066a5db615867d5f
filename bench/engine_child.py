"""Child process: run the air configuration on standard input, print what it cost (read by ours.py)."""

import json
import sys
import time

# The first run of a process imports the contract: that is start-up.
import pacelab.pacer.core.contract  # noqa: F401
from pacelab import _medium

config = sys.stdin.read()
before_s = time.process_time()
result = json.loads(_medium.run(config, [], None))
cost = {"cpu_s": time.process_time() - before_s, "events": result["events"]}
print(json.dumps(cost | {"delivered_pkts": sum(flow["delivered_pkts"] for flow in result["flows"])}))
