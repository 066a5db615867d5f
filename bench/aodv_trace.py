"""How often AODV acts on a chain in ns-2, from its router trace: `python bench/aodv_trace.py` writes ns2-aodv.csv."""

import re
import tempfile
from collections import Counter
from pathlib import Path

import ns2

TARGET = Path(__file__).parent.parent / "tests" / "data" / "ns2-aodv.csv"
CASES = [(hops, rate, window) for hops in (4, 7) for rate in (2, 11) for window in (2, 3, 4, 8, 32)]
SECONDS = 200
HEADER = """\
# ns-2 2.35 (Debian ns2) by bench/ns2/chain.tcl through `python bench/aodv_trace.py`: the chains of ns2-chain.csv
# (AODV, 200 m, one TCP NewReno flow), with what the router trace of the whole chain counts in 200 s. rreq_origin:
# requests by the node that wants the route (hop count 1 when sent); rreq_forward: relayed requests; rrep_origin,
# rrep_forward: replies made and relayed; rerr: errors sent; drop_link: TCP packets (data and ACK) dropped because the
# MAC gave up a frame to the next hop, those flushed from the queue with it included; drop_no_route: TCP packets for
# which a relay had no route.
hops,rate_mbps,max_window_pkts,seed,goodput_kbps,rreq_origin,rreq_forward,rrep_origin,rrep_forward,rerr,drop_link,drop_no_route
"""
COLUMNS = HEADER.splitlines()[-1].split(",")[5:]
REQUEST_HOPS = re.compile(r"\[0x2 (\d+) ")


def main() -> None:
    """Run all cases with three seeds each."""
    lines = HEADER.splitlines()
    for hops, rate, window in CASES:
        for seed in (1, 2, 3):
            with tempfile.NamedTemporaryFile("r", suffix=".tr") as trace:
                run = ns2.chain(
                    hops=hops, rate_mbps=rate, window_pkts=window, seed=seed, seconds=SECONDS, trace=trace.name
                )
                counts = Counter(kind for line in trace if (kind := _kind(line)))
            kbps = run.delivered_pkts[0] * 11.68 / SECONDS
            lines.append(f"{hops},{rate},{window},{seed},{kbps:.1f}," + ",".join(str(counts[name]) for name in COLUMNS))
            print(lines[-1], flush=True)
    TARGET.write_text("\n".join(lines) + "\n")


def _kind(line: str) -> str | None:
    """The column that a trace line counts in."""
    event = line[0]
    if event == "D":
        reason = line.split()[4]
        return {"CBK": "drop_link", "NRTE": "drop_no_route"}.get(reason)
    if event not in "sf":
        return None
    if "(REQUEST)" in line:
        found = REQUEST_HOPS.search(line)
        return "rreq_origin" if found and found[1] == "1" else "rreq_forward"
    if "(REPLY)" in line:
        return "rrep_origin" if event == "s" else "rrep_forward"
    return "rerr" if "(ERROR)" in line else None


if __name__ == "__main__":
    main()
