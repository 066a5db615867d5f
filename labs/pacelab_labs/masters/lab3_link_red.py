# %% [markdown]
# # Lab 3: Link RED and adaptive pacing
#
# **You will be able to** say why the losses on a chain do not keep TCP at its best window; write Link RED and run it at
# every node; compare dropping with marking; explain what adaptive pacing coordinates; and judge a published gain.
#
# **You need** lab 2. **Time:** 75 minutes (one to three minutes of computing).
#
# **After you reopen this notebook**, select the cell at which you stopped and choose *Run > Run All Above Selected
# Cell*. Then run your cell.
#
# As lab 2, this lab uses the air of the authors' simulator, ns-2 of 2001.

# %%
from itertools import product

from pacelab import Experiment, LinkLayer, lab, run, run_link_layer

NS2_OF_2001 = {"radio": "ns2-2001", "tcp_defaults": "ns2-2001", "rate_bps": 2_000_000}


def chain(hops, **more):
    return Experiment(
        topology="chain", **NS2_OF_2001, topology_options={"hops": hops, "wired": False}, **more
    )


lab.back_ends()

# %% [markdown]
# ## Theory
# In lab 2 TCP's average window was nine packets, although four are best. In the Internet, RED keeps queues short: it
# drops a few packets *early*, with a probability that grows with the queue. On a chain queues are nearly empty; with
# more load, contention grows instead. So [Fu et al. 2005, section 6] let each node drop packets early, depending on how
# many **retransmissions** its link layer needs:
#
# * After each packet: avg_retry ← 7/8 · avg_retry + 1/8 · retry.
# * Below min_th no packet is dropped. From min_th on the probability is p = min((avg_retry − min_th)/(max_th −
#   min_th), max_P).
#
# The paper does not give min_th, max_th and max_P. We use 0.4, 20 and 0.05 for dropping, and 0.4, 2 and 0.1 for
# marking. (We chose these values with seeds that this lab does not use. The package `pacelab_pacer.core.link_red`
# explains the choice and has the equations.)
#
# The next cell gives the probability as a function.


# %%
def probability(average, min_th, max_th, max_p):
    """Probability that a packet is dropped when the moving average of retransmissions is `average`."""
    if average < min_th:
        return 0.0
    return min((average - min_th) / (max_th - min_th), max_p)


# %% [markdown]
# ### Exercise: Link RED
# Each node has its own `LinkLayer` object. PaceLab calls `sent` after each frame, with the number of attempts that
# the frame took. It calls `passes` to ask whether the next packet may enter the interface queue: return True to let
# the packet in, and False to drop it. Use the three values for dropping in `passes`. `self.random.random()` returns a
# random number from 0 to 1. `self.node` is the number of the node.


# %%
class MyLinkRed(LinkLayer):
    average = 0.0

    def sent(self, attempts, delivered):
        # BEGIN SOLUTION
        self.average = 7 / 8 * self.average + 1 / 8 * (attempts - 1)
        # END SOLUTION

    def passes(self):
        # BEGIN SOLUTION
        return self.random.random() >= probability(self.average, 0.4, 20.0, 0.05)
        # END SOLUTION


# %%
lab.check("lab3.link_red", MyLinkRed)

# %% [markdown]
# ## Does Link RED hold the window down?
# ### The paper's figure 7, from our data
# The figure shows the share of time that TCP spends at each window: 7 hops, 100 s. It compares NewReno, your Link RED,
# PaceLab's Link RED, and marking (ECN) instead of dropping.

# %%
runs = {scheme: run(chain(7, scheme=scheme, duration_s=100)) for scheme in ("newreno", "lred", "lred-ecn")}
runs["yours"] = run_link_layer(chain(7, duration_s=100), MyLinkRed)
windows = range(1, 17)
shares = {
    name: [result.run["flows"][0]["cwnd_share"].get(str(window), 0.0) for window in windows]
    for name, result in runs.items()
}
lab.curves(windows, shares, xlabel="congestion window (packets)", ylabel="share of the time")

# %%
guess = lab.predict(
    "Link RED holds TCP near its best window. How does dropping change the goodput, relative to NewReno?",
    {
        "a gain of more than 5 %": (1.05, 2.0),
        "about the same, within 5 %": (0.95, 1.05),
        "a loss of more than 5 %": (0.0, 0.95),
    },
)
guess


# %%
def row(name, result):
    flow, lost = result.run["flows"][0], result.run["drops"]["mac-rts"]
    near = sum(share for window, share in flow["cwnd_share"].items() if window in "234")
    return name, flow["goodput_bps"] / 1000, flow["cwnd_mean_pkts"], near, flow["timeouts"], lost


header = ("7 hops", "kbit/s", "mean window", "time at 2 to 4", "timeouts", "contention drops")


@guess.measure
def dropping():
    rows = [row(name, result) for name, result in runs.items()]
    table = lab.table(header, rows, "100 s, seed 1, static routes.")
    return runs["lred"].goodput_bps / runs["newreno"].goodput_bps, table


# %% [markdown] tags=["after"]
# A quarter of the contention drops is left, and the window is smaller, as the paper says. But goodput does not grow:
# early drops cost TCP more than they save. TCP repairs most of these drops by duplicate ACKs. But at a window of three
# packets there are often too few duplicate ACKs, so TCP waits for its retransmission timer, which is one second here.
# With Link RED, TCP times out several times as often as plain NewReno. **Marking** tells TCP the same without losing a
# packet: less than a third of Link RED's timeouts, the window at its best, and about the same goodput as NewReno.

# %% [markdown]
# ## Adaptive pacing
# After a frame, a node waits until its neighbour has had time to forward the frame. So the node waits one packet time
# longer than its backoff. This coordinates two hops instead of one.

# %%
pacing = {
    scheme: run(chain(7, scheme=scheme, duration_s=100))
    for scheme in ("newreno", "link-pacing", "lred+pacing")
}
lab.table(header, [row(name, result) for name, result in pacing.items()], "100 s, seed 1, static routes.")

# %% [markdown]
# Pacing alone leaves hardly any contention drop, and still goodput falls by 6 to 8 % (seeds 1 to 6): the wait after
# each frame costs more than the drops did. TCP's mean window grows to about thirty, because hardly any loss limits it.
# The paper reports a similar value (26).
#
# ## Explore


# %%
def draw(hops, routing, scheme, window):
    tried = chain(hops, routing=routing, window_pkts=window, duration_s=40)
    runs = {name: run(tried.vary(scheme=name)) for name in dict.fromkeys(("newreno", scheme))}
    return lab.series(runs, "goodput_bps", "cwnd_pkts")


lab.explore(
    draw,
    hops=lab.slide("hops", 2, 24, start=7),
    routing=lab.choice("routing", ["static", "aodv-2001"]),
    scheme=lab.choice(
        "NewReno versus", ["newreno", "lred", "lred-ecn", "link-pacing", "lred+pacing"], start="lred-ecn"
    ),
    window=lab.choice("advertised window (packets)", [2, 3, 4, 8, 32], start=32),
)

# %% [markdown] tags=["after"]
# At every setting with static routes, no scheme gains more than 15 %, and dropping gains less than 2 %. If NewReno
# loses ten packets or more to contention over five hops or more, each of the four schemes loses fewer. With AODV a
# single run of 40 s says little. With a window of 32 and seeds 1 to 10, the gain of `lred` at 7 hops lies between -24
# and 27 %, and the gain of `lred-ecn` at 16 hops lies between -13 and 112 %. The figure uses seed 1: repeat the run
# with other seeds before you believe it.

# %% [markdown]
# ### The paper's figure 9, from our data
# The figure shows goodput against the length of the chain, with the AODV of the authors' simulator and with static
# routes. The paper reports that Link RED with pacing gains 10 to 30 % beyond 15 hops.

# %%
lengths = [4, 7, 10, 15, 20]
names = ["newreno", "lred-ecn", "link-pacing", "lred+pacing"]


def goodput(hops, scheme, routing):
    tried = chain(hops, scheme=scheme, routing=routing, duration_s=30)
    return sum(run(tried.vary(seed=seed)).goodput_bps for seed in (1, 2)) / 2000


curves = {"static": {}, "aodv-2001": {}}
for routing, scheme in lab.progress(product(curves, names)):
    curves[routing][scheme] = [goodput(hops, scheme, routing) for hops in lengths]
lab.curves(lengths, curves["aodv-2001"], xlabel="hops, AODV", ylabel="goodput (kbit/s)")

# %%
lab.curves(lengths, curves["static"], xlabel="hops, static routes", ylabel="goodput (kbit/s)")

# %% [markdown]
# With AODV each contention drop breaks a route, so schemes that prevent drops gain a lot. Over six seeds, pacing gains
# 20 % of NewReno's goodput at 7 hops and about 40 % from 10 to 20 hops, and marking gains 16 to 37 % from 4 to 15 hops.
# Link RED with pacing gains 16 and 12 % at 15 and 20 hops, as in the paper.
#
# With static routes little of this is left. At 20 hops, pacing alone has 4 % more goodput than NewReno. Marking by Link
# RED costs more on longer chains, where more nodes mark, each independently. At 20 hops, the goodput with marking is a
# quarter lower than NewReno's. (The figures show two seeds of 30 s: do not rank schemes whose points are close
# together.)
#
# The paper does not say which routing its results used. Section 3 says that route breakage is not considered, but the
# gains of this figure fit AODV. `pacelab claims` has the verdicts.
#
# ## Two crossing flows (table 5)
# In the paper two flows cross at one node. NewReno starves one of them (Jain's index 0.5), and Link RED with pacing
# makes them fair (0.998). Look at several seeds before you believe either result.


# %%
def crossing(scheme, seed):
    tried = Experiment(topology="cross", **NS2_OF_2001, scheme=scheme, seed=seed, duration_s=60)
    rates = [flow["goodput_bps"] / 1000 for flow in run(tried).run["flows"]]
    return " + ".join(f"{rate:.0f}" for rate in rates)


names = ("newreno", "link-pacing", "lred+pacing")
rows = [(scheme, *(crossing(scheme, seed) for seed in (1, 2, 3, 4))) for scheme in lab.progress(names)]
lab.table(
    ("scheme", "seed 1", "seed 2", "seed 3", "seed 4"), rows, "kbit/s of both flows, 60 s, static routes."
)

# %% [markdown]
# **Read the table.** NewReno is unfair with all four seeds, and chance decides which flow it starves: this part of the
# paper's result holds. Link pacing alone makes the flows more equal with three seeds of four, and nearly equal with two
# of them. With Link RED and pacing together the flows are unequal again with each seed, whereas the paper reports a
# Jain's index of 0.998.
#
# ## On real hosts
# Real hosts cannot use the frame formats and waiting times of the ns-2 of 2001. Here both the real hosts and the
# simulator use standard 802.11b.

# %%
net = {"topology": "chain", "topology_options": {"hops": 4, "wired": False}}
today = Experiment(**net, rate_bps=2_000_000, min_rto_s=1.0, duration_s=20)
lab.on_real_hosts("lab3.lred", *(today.vary(scheme=scheme) for scheme in ("newreno", "lred")))

# %% [markdown]
# ## What you can now say

# %% [markdown] tags=["after"]
# * Link RED prevents three quarters of the contention drops, and still TCP is slower: early drops at small windows
#   cause several times as many timeouts as NewReno has.
# * Marking gives TCP the same signal without a loss: few timeouts, and little goodput lost at 7 hops.
# * A scheme against contention drops gains much where each drop breaks a route, and little where drops break no route.
#   A published gain is a gain over one routing protocol.

# %% [markdown]
# ## Questions to think about
# 1. Change `MyLinkRed` so that only the first node drops packets. Does that help on long chains, and why?
# 2. Link RED also drops TCP's ACKs. What does the loss of an ACK tell the sender?
#
# **Further reading.** Z. Fu et al.: *The Impact of Multihop Wireless Channel on TCP Performance*, IEEE Transactions on
# Mobile Computing 4 (2005), section 6. S. Floyd, V. Jacobson: *Random Early Detection Gateways for Congestion
# Avoidance*, IEEE/ACM Transactions on Networking 1 (1993). RFC 3168 (ECN).

# %% [markdown]
# ### Your answers
# Double-click here and write your answers. They are part of what you hand in.
#
# 1. ...
# 2. ...

# %% [markdown] tags=["instructor"]
# **For the instructor.** Question 1 (`self.node != 0 or ...` in `passes`): if only the first node drops packets, the
# cost is lower, but there is no gain. Over thirty seeds of 100 s, the class at all nodes has about 19 % less goodput
# than NewReno at 7 hops and 33 % less at 32 hops, where each of 32 nodes drops independently; at the first node alone
# about 4 and 8 % less. Question 2: nothing, because ACKs are cumulative. The loss only makes the sender burstier. The
# class of the exercise follows the same rule as PaceLab's Link RED, but with another stream of random numbers. So the
# results of a single seed differ.
