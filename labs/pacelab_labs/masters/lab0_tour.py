# %% [markdown]
# # Lab 0: tour and first comparison
#
# **You will be able to** run an experiment and read its result; say which numbers belong to the payload and which to
# the air; compare two schemes with seeds and intervals, and say when a difference is one.
#
# **You need** Python, and what a TCP window is. **Time:** 45 minutes, of which the computer needs one.
#
# How a lab works: run the cells one by one, from top to bottom (Shift+Enter). At *Predict*, choose before you run on.
# Where a cell says `raise lab.Todo`, write what is asked in its place and run the cell: a check says what came, with a
# hint, and from the third try on what it expected. (*Run All Cells* stops at the first of them and then shows the end
# of the page.) Nothing here can break anything.

# %%
from pacelab import Experiment, compare, lab, load_topology, plot_topology, run

lab.back_ends()

# %% [markdown]
# The table says what this computer can run on. All labs run on `sim`: virtual time, no root. Cells on *real hosts* use
# the others where they are, and show what such a run gave elsewhere where they are not.
#
# ## A network
# The network of the TCP-GAP paper: nodes in a line, 200 m apart. A node decodes frames from up to 250 m, so only its
# neighbours', and senses that somebody is sending up to 550 m away. The last node is a gateway with a wire.

# %%
chain = load_topology("chain", hops=4)
lab.picture(
    plot_topology(chain),
    "Five nodes 200 m apart in a line, the last one a gateway; one flow, n0 to host.",
)

# %% [markdown]
# ## An experiment
# An experiment is a topology, traffic, a scheme, a back end, a seed and a duration. What you do not say has a default:
# 802.11b at 11 Mbit/s with RTS/CTS, one TCP NewReno flow from the first node to the wired host. The wire is three links
# of 40 ms, so that a round trip takes a quarter of a second: hence the window of 64 packets; with 32 a single hop
# carries half as much.

# %%
experiment = Experiment(topology="chain", topology_options={"hops": 4}, window_pkts=64, duration_s=20)
result = run(experiment)
lab.series(result, "goodput_bps", "cwnd_pkts")

# %% [markdown]
# A result is data: `result.run` is what `run.json` holds. The same experiment with the same seed gives the same bytes,
# on every computer. Another seed gives another run of the same experiment.

# %%
flow = result.run["flows"][0]
lab.table(
    ("what", "value"),
    [(key, flow[key]) for key in ("src", "dst", "hops", "delivered_pkts", "goodput_bps")],
)

# %% [markdown]
# ## Exercise: goodput
# Goodput is payload that reached the application, once, per second. A full TCP packet here carries 1460 bytes of
# payload behind 40 bytes of headers.


# %%
def goodput_bps(delivered_pkts, payload_bytes, seconds):
    """Payload delivered, in bit/s."""
    # BEGIN SOLUTION
    return delivered_pkts * payload_bytes * 8 / seconds
    # END SOLUTION


lab.check("lab0.goodput", goodput_bps)

# %% [markdown]
# Now the same from the run above. Does it agree with what PaceLab says?

# %%
mine = goodput_bps(flow["delivered_pkts"], 1460, experiment.duration_s)
print(f"mine {mine / 1000:.1f} kbit/s, PaceLab's {flow['goodput_bps'] / 1000:.1f} kbit/s")

# %% [markdown]
# ## Predict: what is a hop worth?
# The radio sends 11 Mbit/s. With one hop TCP's goodput is far less, since each frame costs a preamble, RTS, CTS and
# ACK at 1 Mbit/s, and TCP's ACKs come back over the same air.

# %%
guess = lab.predict(
    "A chain of 4 hops instead of 1: how much of the goodput is left?",
    {
        "more than two thirds: the hops work in parallel": (0.67, 1.1),
        "about half": (0.4, 0.67),
        "about a quarter: the hops take turns": (0.15, 0.4),
        "less than a seventh": (0.0, 0.15),
    },
)
guess

# %%
one = run(experiment.vary(topology_options={"hops": 1}))
print(f"1 hop {one.goodput_bps / 1000:.0f} kbit/s, 4 hops {result.goodput_bps / 1000:.0f} kbit/s")
guess.against(result.goodput_bps / one.goodput_bps)

# %% [markdown]
# Nodes sense each other over two hops (400 m), so that the four hops mostly take turns. Only the first and the last
# sender, 600 m apart, do not sense each other. On a longer chain more hops are far enough apart to work at once. Where
# does the goodput stop falling? Move the slider.


# %%
def draw(hops, rate_mbps, window):
    net = {"hops": hops}
    tried = Experiment(
        topology_options=net, rate_bps=rate_mbps * 1_000_000, window_pkts=window, duration_s=10
    )
    return lab.series(run(tried), "goodput_bps", "cwnd_pkts")


lab.explore(
    draw,
    hops=lab.slide("wireless hops", 1, 12, start=4),
    rate_mbps=lab.choice("rate of the radio (Mbit/s)", [1, 2, 11], start=11),
    window=lab.choice("TCP's window (packets)", [2, 4, 8, 32, 64], start=64),
)

# %% [markdown]
# Wherever the controls stand, no chain carries more than a single hop does, and no flow carries more than one window
# per round trip of the wire. With the rate and the window as they were, less than a fifth of one hop's goodput is
# left from 5 hops on.
#
# ## The air itself
# What the medium does can be watched frame by frame. Blocks are frames (R, C, D, A: RTS, CTS, data, ACK), the grey bar
# below says that a node hears something, dotted boxes are backoffs with the slots drawn. Find TCP's first ACK on its
# way from n4 to n0 (it is data to the radio, a narrow D), and the two packets that it lets out, on their way to n4.
# Two RTSs of n0 got no answer: who was on the air, that n0 could not hear? (Leave NAV, EIFS, △ and ∅C to lab 1.)

# %%
lab.air(experiment, from_ms=245, to_ms=276)

# %% [markdown] tags=["instructor"]
# **For the instructor.** n3, 600 m from n0. Into the end of the first RTS n3 began its own: n1 read n0's all the same
# (△), but it hears n3 and may not answer (∅C). The second RTS met n3's data at n1. Lab 1 is about that.

# %% [markdown]
# ## A first comparison
# `compare` runs schemes side by side over seeds. Each mean comes with a 95 % interval: were the experiment repeated
# with other seeds, 95 % of such intervals would hold the true mean.
#
# ### Exercise: the interval
# From n samples: the standard deviation with n - 1 below the root, divided by √n, times a factor t that depends on n
# (2.776 for 5 samples, 4.303 for 3).

# %%
import math


def half_width(samples, t):
    """Half the width of the 95 % interval of the mean."""
    # BEGIN SOLUTION
    mean = sum(samples) / len(samples)
    variance = sum((sample - mean) ** 2 for sample in samples) / (len(samples) - 1)
    return t * math.sqrt(variance / len(samples))
    # END SOLUTION


lab.check("lab0.half_width", half_width)

# %% [markdown]
# ### The paper's figure, from our data
# [ElRakabawy, Klemm and Lindemann 2006] compare NewReno with their pacing scheme TCP-GAP on chains, with AODV as the
# routing protocol (their figures 7 and 8; lab 4 takes TCP-GAP apart). The paper reports up to 41 % more goodput for
# wireless-to-wired flows from 4 hops on. Here is our measurement of it, beside the same with static routes.

# %%
base = Experiment(topology="chain", window_pkts=64, duration_s=20)
grid = {"hops": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "routing": ["aodv", "static"]}
comparison = compare(base, schemes=["newreno", "tcp-gap"], axes=grid, seeds=3, jobs=1)
lab.comparison(comparison, {"routing": "aodv"}, {"routing": "static"})

# %% [markdown]
# **Read it.** With AODV pacing has the higher mean on chains of 4 hops and more. With static routes it has not, in this
# direction: there the two lie close together. What pacing mends is AODV's habit of taking a frame lost to contention
# for a broken link. The paper's condition is part of the paper's claim. That is how these labs work: `pacelab claims`
# lists every claim that we checked, with its verdict and the reason.
#
# Are two schemes different at some point? Where their intervals do not overlap, yes. Where they do, nothing is said
# either way: run more seeds first. Three seeds of 20 s are a sketch. Look at 7 hops: is the gain settled there?

# %%
rows = [row for row in comparison.rows if row["point"] == {"hops": 7, "routing": "aodv"}]
samples = {row["scheme"]: [sample / 1000 for sample in row["goodput_bps"]["samples"]] for row in rows}
shown = [(scheme, sum(x) / len(x), half_width(x, 4.303)) for scheme, x in samples.items()]
lab.table(
    ("scheme, 7 hops, AODV", "mean (kbit/s)", "half width (kbit/s)"),
    shown,
    "Three seeds, your interval.",
)

# %% [markdown]
# ## On real hosts
# The same experiment with real Linux hosts over our air, where this computer has that back end.

# %%
short = Experiment(topology="chain", topology_options={"hops": 4}, window_pkts=64, duration_s=20)
lab.on_real_hosts("lab0.chain", short)

# %% [markdown]
# ## What you can now say
# * Four hops carry less than a quarter of what one hop carries: they share the air, and mostly take turns.
# * With AODV, TCP-GAP has the higher mean from 4 hops on; over static routes, wireless to wired, the two lie close.
# * A difference of means is not yet a difference: at 7 hops three seeds leave the intervals overlapping.
#
# ## Questions to take along
# 1. Why is the goodput of one hop at 11 Mbit/s nowhere near 11 Mbit/s? Measure which part of the loss is TCP's ACKs:
#    `Experiment(topology="chain", topology_options={"hops": 1, "wired": False}, traffic="udp-saturated")`.
# 2. In the interactive figure: from which number of hops on does another hop cost nearly nothing, and why there?
#
# **Further reading.** S. ElRakabawy, A. Klemm, C. Lindemann: *Gateway Adaptive Pacing for TCP across Multihop Wireless
# Networks and the Internet*, MSWiM 2006. R. Jain: *The Art of Computer Systems Performance Analysis*, chapter 13
# (intervals). `docs/validation.md`: how far this simulator agrees with ns-2, ns-3 and closed forms.

# %% [markdown] tags=["instructor"]
# **For the instructor.** Is the gain settled at 7 hops? No: NewReno's three seeds differ so much that the intervals
# overlap, though the means lie far apart. Question 1: the UDP run gives the airtime without TCP's ACKs. Question 2:
# about four to five hops: beyond it the first hop can send while the fifth does; the curve flattens at less than a
# fifth of one hop's goodput. Students who answered "the hops work in parallel" think of wires.
