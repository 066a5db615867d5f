# %% [markdown]
# # Lab 0: tour and first comparison
#
# **You will be able to** run an experiment and read its result; distinguish payload and overhead on the air;
# compare two schemes (variants of TCP) over several seeds; and say when a difference between two schemes is real.
#
# **You need** to know Python and the meaning of a TCP window. **Time:** 45 minutes (one to three minutes of computing).
#
# **After you reopen this notebook**, select the cell at which you stopped and choose *Run > Run All Above Selected
# Cell*. Then run your cell.
#
# How to work through a lab: run the cells one by one, from top to bottom (Shift+Enter). At *Predict*, choose an answer
# before you run the next cell. Where a cell says `raise lab.Todo`, replace that line with your code and run the cell.
# A check then reports what your code returned. If the check recognises the mistake, the check names the mistake. From
# your third try on, the check also shows the expected value. If you are stuck, `lab.hint("lab0.window")` in a new
# cell shows a hint, then a second hint, and then a solution. You cannot break anything. (If you choose *Run All
# Cells*, Jupyter stops at the first unsolved exercise and scrolls to the bottom of the notebook. Scroll up to that
# exercise.)

# %%
import math

from pacelab import Experiment, compare, lab, load_topology, run

lab.back_ends()

# %% [markdown]
# A back end is the program that carries out an experiment. The table lists PaceLab's back ends and shows which of them
# this computer can use. All labs run on `sim`, which uses virtual time and needs no root rights. The cells *On real
# hosts* use another back end if this computer has a second back end. Otherwise these cells show results that were
# recorded on another computer.
#
# ## A network
# The nodes of this network form a line and are 200 m apart. The network is from a paper of 2006, which this lab cites
# below. The paper is about pacing: a sender that paces sends its packets at intervals, not in bursts. A node decodes
# frames from up to 250 m away, that is, only from its neighbours. A node senses transmissions from up to 550 m away.
# The last node is a gateway to a wired network.

# %%
chain = load_topology("chain", hops=4)
lab.network_map(
    chain,
    "Five nodes 200 m apart in a line, the last one a gateway; one flow, n0 to host.",
)

# %% [markdown]
# ## An experiment
# An experiment consists of a topology, traffic, a scheme, a back end, a seed and a duration. A scheme is a variant of
# TCP, of the gateway or of the link layer, for example plain TCP NewReno, or TCP with pacing. Everything that you
# leave out has a default: 802.11b at 11 Mbit/s with RTS/CTS, and one TCP NewReno flow from the first node to the
# wired host. The wired part consists of three links of 40 ms each, so a round trip takes a quarter of a second. A
# path with such a long round trip needs a large window. We use 64 packets. The window matters: over a chain of only
# one hop, TCP delivers half as much data per second with a window of 32 packets as with 64 packets.

# %%
experiment = Experiment(topology="chain", topology_options={"hops": 4}, window_pkts=64, duration_s=20)
result = run(experiment)
lab.series(result, "goodput_bps", "cwnd_pkts")

# %% [markdown]
# A result is data. `result.run` has the content of the file `run.json`. On the back end `sim`, the same version of
# PaceLab writes an identical `run.json` on every computer, if the experiment and the seed are the same. Another seed
# gives another run of the same experiment.

# %%
flow = result.run["flows"][0]
lab.table(
    ("what", "value"),
    [(key, flow[key]) for key in ("src", "dst", "hops", "delivered_pkts", "goodput_bps")],
)

# %% [markdown]
# ## Goodput
# Goodput is the payload that reaches the application per second, each byte counted once. Here a full TCP packet
# carries 1460 bytes of payload and 40 bytes of headers.

# %%
mine = flow["delivered_pkts"] * 1460 * 8 / experiment.duration_s
print(f"computed {mine / 1000:.1f} kbit/s, PaceLab's {flow['goodput_bps'] / 1000:.1f} kbit/s")

# %% [markdown]
# ### Exercise: a window that is just large enough
# This is a design problem. Your function gets the numbers of one problem and returns the window that you choose. The
# check runs the simulator with your window and shows whether the window meets the goals. Several windows may be right.
#
# A flow sends over `wired_hops` wired links of 40 ms each and one wireless hop at 11 Mbit/s, with `payload_bytes` bytes
# of payload per packet. The wireless hop adds about 7.5 ms to the round-trip time. Choose the TCP window so that the
# goodput of the flow is at least `kbps` kbit/s and at most 15 % more.


# %%
def window_pkts(kbps, payload_bytes, wired_hops):
    """The window in packets."""
    # BEGIN SOLUTION
    round_trip_s = 2 * 0.040 * wired_hops + 0.0075
    return math.ceil(kbps * 1000 * round_trip_s / (8 * payload_bytes))
    # END SOLUTION


lab.check("lab0.window", window_pkts)

# %% [markdown]
# ## Predict: what does a hop cost?
# The radio sends at 11 Mbit/s. Even over one hop TCP's goodput is far lower, for two reasons. Each frame needs a
# preamble, RTS, CTS and ACK at 1 Mbit/s, and TCP's ACKs use the same channel.

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
@guess.measure
def four_hops_for_one():
    one = run(experiment.vary(topology_options={"hops": 1}))
    told = f"1 hop {one.goodput_bps / 1000:.0f} kbit/s, 4 hops {result.goodput_bps / 1000:.0f} kbit/s"
    return result.goodput_bps / one.goodput_bps, told


# %% [markdown] tags=["after"]
# Nodes sense each other over two hops (400 m), so that the four hops mostly take turns. Of the four nodes that send
# data packets, only n0 and n3 do not sense each other, because they are 600 m apart. On a longer chain, more pairs of
# hops are far enough apart to send at the same time.

# %% [markdown]
# If you make the chain longer, at which length does the goodput stop falling? Move the slider.


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
    window=lab.choice("TCP window (packets)", [2, 4, 8, 32, 64], start=64),
)

# %% [markdown] tags=["after"]
# Two limits hold at every setting of the sliders. A chain of several hops never carries more than one hop alone. A
# flow never carries more than one window per round trip of the wired part. At 11 Mbit/s and a window of 64, a chain
# of 5 or more hops carries less than a fifth of the goodput of one hop.

# %% [markdown]
# ## The channel, frame by frame
# You can watch what the radios do. Each block is a frame: R is an RTS, C a CTS, D a data frame, A an ACK. The grey bar
# below a node's line shows when the node senses another transmission. A dotted box is a backoff; the number in the box
# is the number of slots drawn.
#
# Find TCP's first ACK on its way from n4 to n0. (For the radio a TCP ACK is data, so it appears as a narrow D.) Then
# find the two packets that this ACK releases, on their way to n4. Two RTSs of n0 got no answer. At that time another
# node was sending, and n0 was too far away to sense it. Which node was sending? (Lab 1 explains NAV, EIFS, △ and ∅C.)

# %%
lab.air(experiment, from_ms=245, to_ms=276)

# %% [markdown] tags=["instructor"]
# **For the instructor.** It was n3, 600 m from n0. While the first RTS of n0 was ending, n3 started its own
# RTS. n1 still decoded n0's RTS (△), but n1 sensed n3, so n1 was not allowed to answer (∅C). The second RTS collided
# at n1 with n3's data frame. Lab 1 explains such cases.

# %% [markdown]
# ## A first comparison
# `compare` runs several schemes with the same seeds. Each mean has a 95 % confidence interval. If you repeated the
# experiment many times with other seeds, 95 % of such intervals would contain the true mean.
#
# ### Exercise: the interval
# Compute half the width of the interval from n samples. First compute the standard deviation; divide the sum of the
# squared deviations by n − 1, not by n. Then divide the standard deviation by √n and multiply the result by a factor t.
# The factor t depends on n. For 5 samples t is 2.776, and for 3 samples t is 4.303.


# %%
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
# routing protocol (their figures 7 and 8; lab 4 explains the parts of TCP-GAP). For flows from wireless to wired over 4
# or more hops, the paper reports up to 41 % more goodput with TCP-GAP. The left panel shows our measurement with AODV.
# The right panel shows the same experiment with static routes.

# %%
base = Experiment(topology="chain", window_pkts=64, duration_s=20)
grid = {"hops": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "routing": ["aodv", "static"]}
comparison = compare(base, schemes=["newreno", "tcp-gap"], axes=grid, seeds=3, jobs=1)
lab.comparison(comparison, {"routing": "aodv"}, {"routing": "static"})

# %% [markdown]
# **Read the figure.** With AODV, TCP-GAP has the higher mean on chains of 4 hops and more. With static routes, the two
# schemes are close together for flows from wireless to wired. If the link layer gives up a frame because of contention,
# AODV wrongly assumes that the link is broken. Pacing reduces contention, so AODV makes this mistake less often. The
# paper also used AODV. With AODV our result agrees with the paper in sign: TCP-GAP has the higher mean. Three seeds
# are too few to check the size of the gain. `pacelab claims` lists every claim that we checked, with the verdict from
# longer runs and the reason.
#
# When do two schemes differ at a given number of hops? In the labs we use a cautious rule of thumb. If the two 95 %
# intervals do not overlap, we say that the schemes differ. If the intervals overlap, we leave the question open and run
# more seeds. (Overlap does not prove that the schemes are equal: a real difference can be smaller than the intervals.)
# Three seeds of 20 s give only a rough picture. Look at the chain of 7 hops. Does the gain of TCP-GAP at that length
# pass this rule?

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
# This cell runs the same experiment with real Linux hosts on PaceLab's simulated channel, if this computer has such a
# back end.

# %%
short = Experiment(topology="chain", topology_options={"hops": 4}, window_pkts=64, duration_s=20)
lab.on_real_hosts("lab0.chain", short)

# %% [markdown]
# ## What you can now say

# %% [markdown] tags=["after"]
# * Four hops carry less than a quarter of what one hop carries: the hops share the channel and mostly take turns.
# * With AODV, TCP-GAP has the higher mean from 4 hops on. With static routes, the goodputs of the two schemes are
#   close for flows from wireless to wired.
# * A difference between two means is not enough to show that one scheme is better: at 7 hops, with three seeds, the
#   intervals still overlap.

# %% [markdown]
# ## Questions to think about
# 1. Why is the goodput of one hop at 11 Mbit/s so far below 11 Mbit/s? How much of the difference do the ACKs of TCP
#    cause? Measure the goodput without them: `Experiment(topology="chain", topology_options={"hops": 1, "wired":
#    False}, traffic="udp-saturated")`.
# 2. In the interactive figure, increase the number of wireless hops one by one. Write down the mean goodput of each
#    chain, which is printed below the figure. Beyond which length does one more hop cost almost no goodput? Why does
#    this happen at that length?
#
# **Further reading.** S. ElRakabawy, A. Klemm, C. Lindemann: *Gateway Adaptive Pacing for TCP across Multihop Wireless
# Networks and the Internet*, MSWiM 2006. R. Jain: *The Art of Computer Systems Performance Analysis*, chapter 13
# (intervals). `docs/validation.md`: how far this simulator agrees with ns-2, ns-3 and closed-form models.

# %% [markdown]
# ### Your answers
# Double-click here and write your answers. They are part of what you hand in.
#
# 1. ...
# 2. ...

# %% [markdown] tags=["instructor"]
# **For the instructor.** Does the gain at 7 hops pass the rule? No. NewReno's three seeds differ so much that the
# intervals overlap, although the means are far apart.
#
# Question 1: the UDP run shows the goodput without the ACKs of TCP.
#
# Question 2: about four to five hops. On longer chains, the first and the fifth hop can be busy at the same time, so
# the goodput hardly falls any more. The goodput is then less than a fifth of one hop's goodput. Students who answered
# "the hops work in parallel" think of a chain of wires.
