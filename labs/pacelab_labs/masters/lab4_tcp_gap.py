# %% [markdown]
# # Lab 4: TCP-GAP
#
# **You will be able to** build TCP-GAP's pace from round trips and hops; run your own pacer in the simulator against
# the real one; show what pacing and Goodput Control do for fairness; and say which part of the published gain belongs
# to AODV.
#
# **You need** labs 1 and 2. **Time:** 120 minutes, of which the computer needs one.

# %%
from pacelab import Experiment, Pacer, compare, lab, load_topology, plot_topology, run, run_pacer

GAP = {"window_pkts": 64, "duration_s": 60}
lab.back_ends()

# %% [markdown]
# ## Theory
# [ElRakabawy, Klemm and Lindemann 2006] look at a wireless chain behind a gateway. TCP sends in bursts: as many packets
# as its window admits, one behind the other. On a chain the second packet then disturbs the first: every node within
# three hops ahead is in its way. So a packet should start when the one before is **four hops away**. When is that?
# There is no clock on that node. But the round trip through the wireless part tells:
#
# * over h hops data goes out and its ACK comes back: RTT = 2h·t_q + h·(s_data + s_ACK)/b, hence
#
#   t_q = ½ · (RTT/h − (s_data + s_ACK)/b)                                                                      (3)
#
# * four hops of waiting and sending: FHD = 4 · (t_q + s_data/b)                                                 (4)
# * averaged: FHD_hat = 0.7 · old + 0.3 · new                                                                    (2)
# * and stretched where round trips vary, a sign of contention: **T = 1/R = FHD_hat · (1 + 2 · COV)**            (1)
# * COV: the standard deviation (with N − 1) of the last N round trips over their mean                           (5)
#
# s_data and s_ACK are sizes, b is the rate of the links, t_q the mean wait in a node. The paper does not give N; the
# authors' code has 50. PaceLab's own five, for links of different rates, stand in `pacelab_pacer.core.tcp_gap.equations`.
#
# ### Exercise: equation (3)


# %%
def queueing_s(rtt_s, hops, rate_bps, data_bytes, ack_bytes):
    """t_q in seconds. Sizes are in bytes."""
    # BEGIN SOLUTION
    return (rtt_s / hops - 8 * (data_bytes + ack_bytes) / rate_bps) / 2
    # END SOLUTION


lab.check("lab4.queueing", queueing_s)

# %% [markdown]
# ### Exercise: equation (4)
# On a path of fewer than four hops a packet cannot be four hops away: take the delay of the whole path.


# %%
def four_hop_delay_s(rtt_s, hops, rate_bps, data_bytes, ack_bytes):
    """FHD in seconds; of a path of h < 4 hops its h-hop delay."""
    # BEGIN SOLUTION
    wait_s = queueing_s(rtt_s, hops, rate_bps, data_bytes, ack_bytes)
    return min(hops, 4) * (wait_s + 8 * data_bytes / rate_bps)
    # END SOLUTION


lab.check("lab4.four_hop_delay", four_hop_delay_s)

# %% [markdown]
# ### Exercise: equation (5)

# %%
import statistics


def cov(rtts_s):
    """Standard deviation over mean; 0 of a single sample."""
    # BEGIN SOLUTION
    return statistics.stdev(rtts_s) / statistics.mean(rtts_s) if len(rtts_s) > 1 else 0.0
    # END SOLUTION


lab.check("lab4.cov", cov)

# %% [markdown]
# ## The gateway pacer
# Packets from the wire wait in a *pacing queue* at the gateway and go into the air T apart. For flows that start in
# the wireless part the same sits at their source, and the gateway helps: it measures RTT_wired and writes it into a TCP
# option of the ACKs, so that the source can tell RTT_wireless = RTT − RTT_wired.
#
# ### Exercise: when do packets leave?
# Each at its arrival, or one interval after the one before, whichever is later.


# %%
def release_ms(arrivals_ms, interval_ms):
    """Times at which packets leave, a list as long as `arrivals_ms` (which is in order)."""
    # BEGIN SOLUTION
    leave_ms = []
    for at_ms in arrivals_ms:
        leave_ms.append(max(at_ms, leave_ms[-1] + interval_ms) if leave_ms else at_ms)
    return leave_ms
    # END SOLUTION


lab.check("lab4.release", release_ms)

# %% [markdown]
# ### Exercise: your own pacer
# A `Pacer` is told of each round trip and says how long to wait between two packets. Queues, timers and the measuring
# are there. `sample` has `rtt_s`, `hops`, `rate_bps`, `data_bytes` and `ack_bytes`.

# %%
from collections import deque


class MyPacer(Pacer):
    def __init__(self):
        self.average_s = None  # FHD_hat; the first sample starts it
        self.rtts_s = deque(maxlen=50)

    def measured(self, sample):
        # BEGIN SOLUTION
        path = (sample.hops, sample.rate_bps, sample.data_bytes, sample.ack_bytes)
        new_s = four_hop_delay_s(sample.rtt_s, *path)
        self.average_s = new_s if self.average_s is None else 0.7 * self.average_s + 0.3 * new_s
        self.rtts_s.append(sample.rtt_s)
        self.interval_s = self.average_s * (1 + 2 * cov(self.rtts_s))
        # END SOLUTION


# %%
lab.check("lab4.pacer", MyPacer)

# %% [markdown]
# Now let it run: 7 hops, from the wired host into the mesh, with AODV. Beside it plain NewReno, and PaceLab's own
# pacing without Goodput Control.

# %%
down = Experiment(topology_options={"hops": 7}, direction="down", routing="aodv", **GAP)
runs = {scheme: run(down.vary(scheme=scheme)) for scheme in ("newreno", "tcp-gap-nogc")}
runs["yours"] = run_pacer(down, MyPacer)
lab.flow_bars(runs)

# %% [markdown]
# Yours should be close to `tcp-gap-nogc`. The difference: PaceLab's leaves out round trips that waited for a route
# (seconds long), by the rule of RFC 6298's retransmission timeout.
#
# ## The paper's figures 7 and 8, from our data
# Goodput against the number of hops with AODV, both directions.

# %%
base = Experiment(routing="aodv", window_pkts=64, duration_s=20)
grid = {"hops": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "direction": ["up", "down"]}
chains = compare(base, schemes=["newreno", "tcp-gap", "tcp-gap-eval"], axes=grid, seeds=3, jobs=1)
lab.comparison(chains, {"direction": "up"}, {"direction": "down"})

# %% [markdown]
# The paper reports up to 41 % (up) and 42 % (down) more goodput from 4 hops on, and nearly the same below. We find the
# gain from 4 hops on: 15 to 44 % up; down 18 to 61 % up to 8 hops, and more at 9, where NewReno collapses in some
# seeds. On one and two hops the scheme as printed loses up to 9 %, and at 3 hops down 16 %: there the ends are hidden
# from each other, round trips swing, and COV stretches T far too much.
# `tcp-gap-eval` takes in the place of COV what the authors' own code computed, the mean deviation of the four-hop
# delay: it gains at 3 hops, too, and 42 % at 4 hops down, as in the paper. `docs/tcp-gap.md` tells that story.
#
# ## AODV's part
# AODV takes a packet that the link layer gave up for a broken link: it drops what waits, tells everybody, and floods
# the network to find the same route again. Predict what is left of the gain on static routes.

# %%
guess = lab.predict(
    "7 hops, down, static routes: what does TCP-GAP gain over NewReno, as a share of NewReno's goodput?",
    {
        "about as much as with AODV: more than 0.2": (0.2, 2.0),
        "some: 0.05 to 0.2": (0.05, 0.2),
        "hardly anything, or a loss": (-1.0, 0.05),
    },
)
guess


# %%
def gain(routing):
    """TCP-GAP's gain, and how often AODV took a link for broken under NewReno and under TCP-GAP."""
    tried = [run(down.vary(routing=routing, scheme=scheme)) for scheme in ("newreno", "tcp-gap")]
    failures = [(result.run["aodv"] or {}).get("link_failures", 0) for result in tried]
    return tried[1].goodput_bps / tried[0].goodput_bps - 1, *failures


gains = {routing: gain(routing) for routing in ("aodv", "static")}
print(guess.against(gains["static"][0]))
lab.table(
    ("routing", "gain", "link failures, NewReno", "with TCP-GAP"),
    [(name, *row) for name, row in gains.items()],
)

# %% [markdown]
# Pacing prevents the contention that AODV misreads. That is worth having, since such routing protocols exist. But who
# quotes "42 %" should add "with AODV".
#
# ## Explore


# %%
def draw(hops, direction, routing, scheme, seed):
    net = {"topology_options": {"hops": hops}, "direction": direction, "routing": routing}
    tried = Experiment(**net, window_pkts=64, duration_s=20, seed=seed)
    runs = {name: run(tried.vary(scheme=name)) for name in ("newreno", scheme)}
    return lab.series(runs, "goodput_bps", "rtt_s")


lab.explore(
    draw,
    hops=lab.slide("wireless hops", 1, 12, start=7),
    direction=lab.choice("direction", ["down", "up"]),
    routing=lab.choice("routing", ["aodv", "static"]),
    scheme=lab.choice("beside NewReno", ["tcp-gap", "tcp-gap-eval", "tcp-gap-nogc", "tcp-gap-code"]),
    seed=lab.slide("seed", 1, 10, start=1),
)

# %% [markdown]
# Wherever the controls stand: from 4 to 10 hops each of the four schemes gains with AODV, and from 5 hops on
# downwards over static routes, too. Upwards over static routes, from 4 hops on, they carry anything from a tenth less
# to a quarter more. On one and two hops nothing is gained. And one run proves little: upwards over 11 hops with AODV
# `tcp-gap-eval` loses a third with seed 1, and gains with most others.
#
# Compare the round trips, downwards over 7 hops: behind the gateway's queue TCP's own round trip is more than a second
# long. The packets wait there and not in the air. Upwards the wait is at the source, before TCP's clock starts.
#
# **An outage.** Now 9 hops, down, AODV, seed 4: in 3 of the ten seeds NewReno delivers nothing for more than ten
# seconds. Nothing is lost meanwhile. A relay has taken its next link for broken and asks around for another way; its
# neighbour answers with the route that both had, as old and as long, and ns-2's AODV does not take that for better
# than what it has. So the relay keeps the packets and asks again, and again, and gives up after ten seconds. (RFC 3561
# would have taken the answer.) With TCP-GAP no seed is silent for as much as two seconds. Pacing makes the outage rare,
# not impossible: with 10 hops, down, AODV, seed 5 is silent under TCP-GAP, too, for more than eight seconds.
#
# ## Fairness: two chains, oncoming flows
# The paper's figure 4: two chains of five hops beside each other, 400 m apart, one gateway. FTP 1 (flow 0 in the
# picture) comes from the wire, FTP 2 (flow 1) goes to it.

# %%
parallel = load_topology("parallel", direction="mixed")
lab.picture(
    plot_topology(parallel), "Two chains of wireless nodes meet in one gateway; one flow in, one flow out."
)

# %% [markdown]
# Packets into the mesh win: their large data frames leave the gateway itself, which senses everybody around it, while
# FTP 2's data frames must arrive there, against hidden terminals. **Goodput Control**, every 5 s: flows from the wire
# with more than S = 1.1 times the mean goodput of all flows are throttled to that mean. If the others do not profit,
# the throttle is taken off again.
#
# ### Exercise: whom to throttle?


# %%
def throttles(goodput_kbps, from_wired, threshold):
    """Flow -> rate it is throttled to. `goodput_kbps`: flow -> goodput; `from_wired`: flows that the gateway paces."""
    # BEGIN SOLUTION
    mean = sum(goodput_kbps.values()) / len(goodput_kbps)
    fast = [flow for flow, goodput in goodput_kbps.items() if goodput > threshold * mean]
    return {flow: mean for flow in fast if flow in from_wired}
    # END SOLUTION


lab.check("lab4.goodput_control", throttles)

# %% [markdown]
# ### The paper's figures 11 and 17, from our data
# Oncoming flows, static routes: the two chains, and the cross of four flows (figure 14). Jain's index is 1 when all
# flows get the same, 1/n when one gets all.

# %%
schemes = ["newreno", "tcp-gap-nogc", "tcp-gap"]
oncoming = {
    net: {
        scheme: run(Experiment(topology=net, direction="mixed", scheme=scheme, **GAP)) for scheme in schemes
    }
    for net in ("parallel", "cross-gateway")
}
lab.flow_bars(oncoming["cross-gateway"])

# %%
rows = [
    (net, scheme, result.run["totals"]["jain"], result.goodput_bps / 1000, result.run["hooks"]["actions"])
    for net, results in oncoming.items()
    for scheme, result in results.items()
]
lab.table(
    ("topology", "scheme", "Jain's index", "sum (kbit/s)", "actions"), rows, "60 s, static routes, seed 1."
)

# %% [markdown]
# On the cross NewReno leaves the flows that send to the gateway 15 % at most of what the others get. Pacing alone gives
# each a share, and Goodput Control makes the shares nearly equal, at no cost of goodput here. With AODV a short run
# tells less: there its own route discoveries decide, seed by seed. Over the paper's 20 minutes Jain's index is 0.995
# there, too, 0.19 more than without Goodput Control (the book's tcp-gap-fig17). Try.


# %%
def fairness(net, routing, seed):
    tried = Experiment(
        topology=net, direction="mixed", routing=routing, seed=seed, window_pkts=64, duration_s=40
    )
    return lab.flow_bars({scheme: run(tried.vary(scheme=scheme)) for scheme in schemes})


lab.explore(
    fairness,
    net=lab.choice("topology", ["cross-gateway", "parallel"]),
    routing=lab.choice("routing", ["static", "aodv"]),
    seed=lab.slide("seed", 1, 10, start=1),
)

# %% [markdown]
# Over static routes, with either topology and every seed, Goodput Control is the fairest of the three, with a Jain's
# index above 0.95.
#
# ## On real hosts

# %%
real = Experiment(topology_options={"hops": 4}, duration_s=20, window_pkts=64)
lab.on_real_hosts("lab4.gap", *(real.vary(scheme=scheme) for scheme in ("newreno", "tcp-gap")))

# %% [markdown]
# ## What you can now say
# * With AODV, TCP-GAP gains from 4 hops on, in both directions; on one and two hops it costs up to a tenth.
# * Pacing prevents what AODV misreads: at 7 hops, downwards, most of the gain is gone over static routes.
# * Goodput Control makes four crossing flows nearly equal, and they carry no less together than under NewReno.
#
# ## Questions to take along
# 1. Change `MyPacer` to ignore COV. What happens at 3 and at 7 hops, with each kind of routing? What is COV for?
# 2. T is the time between packets of *one* flow. What do ten flows through one gateway add up to, and what would you
#    change?
#
# **Further reading.** S. ElRakabawy, A. Klemm, C. Lindemann: *Gateway Adaptive Pacing for TCP across Multihop Wireless
# Networks and the Internet*, MSWiM 2006; the same: *TCP with Adaptive Pacing for Multihop Wireless Networks*, MobiHoc
# 2005. `docs/tcp-gap.md`: what holds of it here and what does not. RFC 6298.

# %% [markdown] tags=["instructor"]
# **For the instructor.** Question 1: without COV the gain over NewReno at 3 hops goes from -24 to +9 % down and from 4
# to 12 % up, and little changes at 8 (docs/tcp-gap.md); COV is a brake against contention from others, and where the
# own flow makes round trips vary it brakes itself. Question 2: each flow's T knows nothing of the others but through
# RTT and COV.
