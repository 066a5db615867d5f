"""Child process: run the air configuration on standard input, print what it cost (read by ours.py)."""

import json
import sys
import time

from pacelab import _medium

config = sys.stdin.read()
before_s = time.process_time()
result = json.loads(_medium.run(config, [], None))
cost = {"cpu_s": time.process_time() - before_s, "events": result["events"]}
print(json.dumps(cost | {"delivered_pkts": sum(flow["delivered_pkts"] for flow in result["flows"])}))
