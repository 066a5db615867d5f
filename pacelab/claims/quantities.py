"""Numbers that a claim can measure in one run, by name. The name contains the unit; shares are 0..1.

A quantity is a function of the run's result and of the other parts that the measure names: a flow, a node, a link or a
time interval. None means that the run does not define the number (the fairness of flows that all got nothing).

Contention drops are packets that the MAC gave up after its retries: with static routes the drops, and with AODV the
drops that AODV takes for broken links. Queue drops are those of the wireless interface queues.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from pacelab.claims.traffic_quantities import TRANSFER_QUANTITIES, VOICE_QUANTITIES, Aspect, Quantity, flows_of
from pacelab.results.metrics import jain
from pacelab.results.results import RunResult
from pacelab.results.types import NodeResult

if TYPE_CHECKING:
    from pacelab_topologies.model import Topology


KBPS = 1e-3
BITS = 8
NEAR_BEST = ("2", "3", "4")
"""Windows around [fu]'s W* of a 7-hop chain."""
MAC_DROPS = ("mac-rts", "mac-data")


def goodput_kbps(result: RunResult, aspect: Aspect) -> float:
    """Goodput of a flow or of all flows; over an interval of the time series if one is given."""
    if aspect.between_s is None:
        return KBPS * math.fsum(flow["goodput_bps"] for flow in flows_of(result, aspect))
    low_s, high_s = aspect.between_s
    inside = [i for i, end_s in enumerate(result.series["t_s"]) if low_s < end_s <= high_s]
    flows = [flow for flow in result.series["flows"] if aspect.flow in (None, flow["id"])]
    return KBPS * math.fsum(flow["goodput_bps"][i] or 0.0 for flow in flows for i in inside) / max(1, len(inside))


def fairness(result: RunResult, aspect: Aspect) -> float | None:
    """Jain's index of the flows' goodputs."""
    return jain([goodput_kbps(result, _of(aspect, flow["id"])) for flow in result.run["flows"]])


def least_to_most(result: RunResult, aspect: Aspect) -> float | None:
    """Goodput of the slowest flow over that of the fastest: 0 if one starves, 1 if all are equal."""
    rates = [goodput_kbps(result, _of(aspect, flow["id"])) for flow in result.run["flows"]]
    return min(rates) / max(rates) if max(rates) > 0 else None


def window_pkts(result: RunResult, aspect: Aspect) -> float:
    """Mean congestion window, summed over the flows."""
    return math.fsum(flow["cwnd_mean_pkts"] or 0.0 for flow in flows_of(result, aspect))


def window_near_best_share(result: RunResult, aspect: Aspect) -> float | None:
    """Share of time in which a flow, or the mean flow, had a whole window of 2 to 4 packets: near the best, W* ~ 3."""
    shares = [share for flow in flows_of(result, aspect) if (share := flow["cwnd_share"])]
    return (
        math.fsum(share.get(window, 0.0) for share in shares for window in NEAR_BEST) / len(shares) if shares else None
    )


def rtt_mean_s(result: RunResult, aspect: Aspect) -> float | None:
    """Mean round-trip time of a flow, or the mean over flows."""
    times = [flow["rtt_mean_s"] for flow in flows_of(result, aspect) if flow["rtt_mean_s"] is not None]
    return math.fsum(times) / len(times) if times else None


def queue_mean_pkts(result: RunResult, aspect: Aspect) -> float:
    """Mean queue of a node, or of the node with the longest one."""
    return float(max(node["queue_mean_pkts"] for node in _radios(result, aspect)))


def queue_max_pkts(result: RunResult, aspect: Aspect) -> float:
    """Longest queue of a node, or of any node."""
    return float(max(node["queue_max_pkts"] for node in _radios(result, aspect)))


def queue_deviation_pkts(result: RunResult, aspect: Aspect) -> float:
    """Standard deviation of the nodes' mean queues."""
    means = [node["queue_mean_pkts"] for node in _radios(result, aspect)]
    mean = math.fsum(means) / len(means)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in means) / len(means))


def queue_sd_pkts(result: RunResult, aspect: Aspect) -> float | None:
    """Standard deviation of the queue over time, of a node, or the mean over the nodes between the two ends."""
    deviations = [node["queue_sd_pkts"] for node in _radios(result, aspect)]
    between = deviations[1:-1] if aspect.node is None else deviations
    return math.fsum(between) / len(between) if between else None


def contention_drops(result: RunResult, aspect: Aspect) -> float:
    """Packets that the MAC gave up; those of one link if it is named."""
    if aspect.link is not None:
        links = [link for link in result.run["links"] or () if (link["from"], link["to"]) == aspect.link]
        return float(sum(link["drops_rts"] + link["drops_data"] for link in links))
    return float(sum(result.run["drops"].get(cause, 0) for cause in MAC_DROPS))


def link_drops(result: RunResult, aspect: Aspect) -> float:
    """Packets lost on a link: the MAC gave them up, or routing removed them from the queue because the link broke."""
    links = [link for link in result.run["links"] or () if (link["from"], link["to"]) == aspect.link]
    return contention_drops(result, aspect) + sum(link["drops_recalled"] for link in links)


def queue_drops(result: RunResult, _aspect: Aspect) -> float:
    """Packets dropped because a wireless queue was full."""
    return float(result.run["drops"]["queue"])


def contention_part(result: RunResult, aspect: Aspect) -> float | None:
    """Contention drops over contention and queue drops together."""
    by_mac, by_queue = contention_drops(result, aspect), queue_drops(result, aspect)
    return by_mac / (by_mac + by_queue) if by_mac + by_queue > 0 else None


def transmissions(result: RunResult, _aspect: Aspect) -> float:
    """Packets that end hosts passed to the network: data, and one ACK for every segment that arrived."""
    config, total = result.run["config"], 0.0
    measured_s = result.run["totals"]["end_s"] - config["warmup_s"]
    for flow in result.run["flows"]:
        total += flow["sent_pkts"]
        if flow["kind"] == "tcp":
            arrived = flow["throughput_bps"] * measured_s / (BITS * config["payload_bytes"])
            total += arrived / (2 if config["ack"] == "delayed" else 1)
    return total


def drop_probability(result: RunResult, aspect: Aspect) -> float | None:
    """Contention drops over the packets that were sent and found room in the queues."""
    entered = transmissions(result, aspect) - queue_drops(result, aspect)
    return contention_drops(result, aspect) / entered if entered > 0 else None


def hidden_probability(result: RunResult, _aspect: Aspect) -> float | None:
    """Fu's H_f: failed RTS over all RTS sent. Source: [fu] Eq. (1)."""
    sent = sum(node["rts_sent"] for node in result.run["nodes"])
    return sum(node["rts_failures"] for node in result.run["nodes"]) / sent if sent else None


def drops_per_rts(result: RunResult, _aspect: Aspect) -> float | None:
    """Packets dropped after failed RTS over all RTS sent: p_r of [fu] Eq. (2)."""
    sent = sum(node["rts_sent"] for node in result.run["nodes"])
    return sum(node["drops_rts"] for node in result.run["nodes"]) / sent if sent else None


def model_drops_per_rts(result: RunResult, aspect: Aspect) -> float | None:
    """p_r of Fu's Markov chain for this run's measured H_f. Source: [fu] Eq. (2)."""
    hidden = hidden_probability(result, aspect)
    return None if hidden is None else retry_drop_probability(hidden)


def eq2_ratio(result: RunResult, aspect: Aspect) -> float | None:
    """Measured drops per RTS over those of the model."""
    model, measured = model_drops_per_rts(result, aspect), drops_per_rts(result, aspect)
    return measured / model if model and measured is not None else None


def eq2_by_node_ratio(result: RunResult, _aspect: Aspect) -> float | None:
    """Measured drops over those of [fu] Eq. (2) at each node's own H_f."""
    busy = [node for node in result.run["nodes"] if node["rts_sent"]]
    model = math.fsum(one["rts_sent"] * retry_drop_probability(one["rts_failures"] / one["rts_sent"]) for one in busy)
    return sum(node["drops_rts"] for node in busy) / model if model else None


def timeouts(result: RunResult, aspect: Aspect) -> float:
    """Retransmission timeouts."""
    return float(sum(flow["timeouts"] for flow in flows_of(result, aspect)))


def finished_s(result: RunResult, aspect: Aspect) -> float | None:
    """Mean time at which the sized flows had delivered all data; None if one has not."""
    ends = [flow.get("finished_s") for flow in flows_of(result, aspect)]
    known = [end for end in ends if end is not None]
    return math.fsum(known) / len(known) if len(known) == len(ends) and known else None


def longest_silence_s(result: RunResult, aspect: Aspect) -> float:
    """Longest time without goodput in the series of a flow, or the maximum over flows."""
    step_s = result.series["interval_s"]
    longest = 0
    for flow in result.series["flows"]:
        run = 0
        for rate in flow["goodput_bps"] if aspect.flow in (None, flow["id"]) else ():
            run = 0 if rate else run + 1
            longest = max(longest, run)
    return float(longest * step_s)


def pacing_overflows(result: RunResult, _aspect: Aspect) -> float:
    """Packets dropped because a gateway's pacing queue was full."""
    return float(sum(hook["counters"].get("overflows", 0) for hook in result.run["hooks"]["points"]))


QUANTITIES: Mapping[str, Quantity] = MappingProxyType(
    {
        function.__name__: function
        for function in (
            *(
                goodput_kbps,
                fairness,
                least_to_most,
                window_pkts,
                window_near_best_share,
                rtt_mean_s,
                timeouts,
                finished_s,
                longest_silence_s,
            ),
            *(queue_mean_pkts, queue_max_pkts, queue_deviation_pkts, queue_sd_pkts, queue_drops, pacing_overflows),
            *(contention_drops, link_drops, contention_part, transmissions, drop_probability),
            *(hidden_probability, drops_per_rts, model_drops_per_rts, eq2_ratio, eq2_by_node_ratio),
            *TRANSFER_QUANTITIES,
            *VOICE_QUANTITIES,
        )
    }
)
"""Name -> quantity."""


def _radios(result: RunResult, aspect: Aspect) -> list[NodeResult]:
    wireless = {node["name"] for node in result.run["topology"]["nodes"] if node["wireless"]}
    return [node for node in result.run["nodes"] if node["name"] in wireless and aspect.node in (None, node["name"])]


def _of(aspect: Aspect, flow: int) -> Aspect:
    return Aspect(flow=flow, between_s=aspect.between_s)


# Fu's model of link-layer contention: from hidden terminals to dropped packets.
#
#     H_f = 1 - B_f / CS_f                               (1) a start of a transmission that fails
#     p_r = (1 - H) H^r / (1 - H^(r+1))                  (2) the packet is dropped after r failures
#     c(m) = floor(m / ceil(m / C*)),  b(m) = floor(c(m) / ceil(c(m) / B*))
#     L_f(m) = p_r(1 - b/c) * c/m                        (3) drop probability of one of m backlogged senders, per slot
#     L(m) = 1 - (1 - L_f(m))^c(m)                       (4)
#
# C* is the maximum number of senders that can start at once (no two sense each other), B* the maximum that can succeed
# at once. Properties 5.1-5.3: L_f is 0 up to B*, grows up to C*, and is constant beyond it.
# Source: [fu] Sec. 5.3.
# Deviates: Eq. (3) prints b(m)/m where (2) with CS_f = c(m)/m and 1 - H_f = b/c gives (b/c)(c/m), the same number.
# Deviates: the chain counts state r as one more start; a packet that fails r times starts r times, which would give
# (1 - H) H^r / (1 - H^r). `retry_drop_probability` follows the paper.

RETRY_LIMIT = 7
"""r: the number of attempts of an RTS."""


def retry_drop_probability(hidden: float, retry_limit: int = RETRY_LIMIT) -> float:
    """p_r for the probability `hidden`, 0..1, that an RTS fails. Source: [fu] Eq. (2)."""
    if not 0 <= hidden <= 1:
        raise ValueError(f"hidden must be from 0 to 1, not {hidden}")
    if hidden == 1:
        return 1 / (retry_limit + 1)  # the limit for H = 1
    return (1 - hidden) * hidden**retry_limit / (1 - hidden ** (retry_limit + 1))


def starters(backlogged: int, most_starters: int) -> int:
    """c(m): the number of `backlogged` senders that start at once."""
    return backlogged // math.ceil(backlogged / most_starters)


def winners(started: int, most_winners: int) -> int:
    """b(m): the number of `started` transmissions that succeed."""
    return started // math.ceil(started / most_winners)


def sender_drop_probability(backlogged: int, *, most_starters: int, most_winners: int) -> float:
    """L_f(m), per slot. Source: [fu] Eq. (3)."""
    started = starters(backlogged, most_starters)
    hidden = 1 - winners(started, most_winners) / started
    return retry_drop_probability(hidden) * started / backlogged


def network_drop_probability(backlogged: int, *, most_starters: int, most_winners: int) -> float:
    """L(m), per slot. Source: [fu] Eq. (4)."""
    single = sender_drop_probability(backlogged, most_starters=most_starters, most_winners=most_winners)
    return 1 - (1 - single) ** starters(backlogged, most_starters)


def capacities(topology: Topology) -> tuple[int, int]:
    """C* and B* of a topology with one-hop flows: the senders that can start at once, and the pairs that can succeed at
    once.
    """

    def sense(a: int, b: int) -> bool:
        return topology.distance_m(a, b) <= topology.sense_m

    flows = topology.flows
    starts = [[f is not g and sense(f.src, g.src) for g in flows] for f in flows]
    wins = [
        [f is not g and any(sense(a, b) for a in (f.src, f.dst) for b in (g.src, g.dst)) for g in flows] for f in flows
    ]
    most_winners = greedy_independent_set(wins)
    return max(
        greedy_independent_set(starts), most_winners
    ), most_winners  # pairs that succeed at once have started at once


def greedy_independent_set(conflicts: Sequence[Sequence[bool]]) -> int:
    """Size of a large set without conflicts, found greedily by fewest conflicts: a lower bound of the maximum."""
    left = set(range(len(conflicts)))
    chosen = 0
    while left:
        best = min(left, key=lambda i: (sum(conflicts[i][j] for j in left), i))
        left -= {j for j in left if conflicts[best][j]} | {best}
        chosen += 1
    return chosen
