# %% [markdown]
# # Lab 3: Link RED and adaptive pacing
#
# **You will be able to** say why a chain's own losses do not hold TCP at its best window; write Link RED and run it at
# every node; weigh dropping against marking; explain what adaptive pacing coordinates, and judge a published gain.
#
# **You need** lab 2. **Time:** 75 minutes, of which the computer needs one.

# %%
from pacelab import Experiment, LinkLayer, lab, run, run_link_layer

FU = {"topology": "chain", "rate_bps": 2_000_000, "min_rto_s": 1.0}


def chain(hops, **more):
    return Experiment(**FU, topology_options={"hops": hops, "wired": False}, **more)


lab.back_ends()

# %% [markdown]
# ## Theory
# Lab 2 found TCP at an average window of seven where three are best. In the Internet RED keeps queues short by dropping
# a few packets *early*, with a probability that rises with the queue. On a chain queues are nearly empty; what rises
# with the load is contention. So [Fu et al. 2005, section 6] let each node drop early by the **retransmissions** its
# link layer needs:
#
# * avg_retry ← 7/8 · avg_retry + 1/8 · retry, after each packet;
# * below min_th nothing is dropped, above it with p = min((avg_retry − min_th)/(max_th − min_th), max_P).
#
# The paper does not give min_th, max_th and max_P. Ours were chosen on other seeds than those you run
# (`pacelab_pacer.core.link_red` tells how, and has the equations): 0.4, 20, 0.05 for dropping, 0.4, 2, 0.1 for marking.
#
# ### Exercise: the probability


# %%
def probability(average, min_th, max_th, max_p):
    """Probability that a packet is dropped when the moving average of retransmissions is `average`."""
    # BEGIN SOLUTION
    if average < min_th:
        return 0.0
    return min((average - min_th) / (max_th - min_th), max_p)
    # END SOLUTION


lab.check("lab3.probability", probability)

# %% [markdown]
# ### Exercise: Link RED
# A `LinkLayer` sits at each node. `sent` hears of each frame how many attempts it took, `passes` says whether the next
# packet may go to the interface queue, by the three numbers for dropping. `self.random.random()` draws from 0 to 1;
# `self.node` is the node's number.


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
# ## Does it hold the window?
# ### The paper's figure 7, from our data
# The share of time that TCP spends at each window: 7 hops, 100 s. Yours beside PaceLab's, and beside marking (ECN)
# instead of dropping.

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
    "Link RED holds TCP near its best window. What does dropping do to the goodput, relative to NewReno?",
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


print(guess.against(runs["lred"].goodput_bps / runs["newreno"].goodput_bps))
header = ("7 hops", "kbit/s", "mean window", "time at 2 to 4", "timeouts", "contention drops")
lab.table(header, [row(name, result) for name, result in runs.items()], "100 s, seed 1, static routes.")

# %% [markdown]
# Contention drops are halved, and the window comes down, as the paper says. But goodput does not follow: early drops
# cost TCP more than they save. Most of them it repairs by duplicate ACKs. At a window of three there are too few of
# those, so TCP waits for its timer, here a second; it does that at least twice as often as NewReno. **Marking** tells
# TCP the same without losing anything: no timeouts, the window at its best, and a small gain.
#
# ## Adaptive pacing
# After a frame, a node waits as long as its neighbour needs to pass it on: one packet time more than its backoff. That
# coordinates two hops instead of one.

# %%
pacing = {
    scheme: run(chain(7, scheme=scheme, duration_s=100))
    for scheme in ("newreno", "link-pacing", "lred+pacing")
}
lab.table(header, [row(name, result) for name, result in pacing.items()], "100 s, seed 1, static routes.")

# %% [markdown]
# With pacing alone a tenth of the contention drops, and yet some 4 % less goodput: the wait after each frame costs more
# than the drops did. TCP's mean window grows to about twenty, as the paper writes of it (26), since hardly a loss holds
# it back.
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
    routing=lab.choice("routing", ["static", "aodv"]),
    scheme=lab.choice("beside NewReno", ["newreno", "lred", "lred-ecn", "link-pacing", "lred+pacing"]),
    window=lab.choice("advertised window (packets)", [2, 3, 4, 8, 32], start=32),
)

# %% [markdown]
# Wherever the controls stand, over static routes: no scheme gains more than 15 %, and dropping gains nothing. Where
# NewReno loses ten packets or more to contention, each of the four schemes loses fewer. With AODV one run of 40 s may
# show almost anything, losses as well as gains: repeat it before you believe it.
#
# ### The paper's figure 9, from our data
# Goodput against the length of the chain, in the air that the authors had: their simulator's version of 2001 made other
# frames and waited otherwise than today's. The paper has gains of 10 to 30 % beyond 15 hops.

# %%
lengths = [4, 7, 10, 15, 20]
names = ["newreno", "lred-ecn", "link-pacing", "lred+pacing"]
AIR_OF_2001 = {"radio": "ns2-2001", "tcp_defaults": "ns2-2001", "headers": "ns2-2001"}


def goodput(hops, scheme, routing):
    tried = chain(hops, scheme=scheme, routing=routing, duration_s=30, **AIR_OF_2001)
    return sum(run(tried.vary(seed=seed)).goodput_bps for seed in (1, 2)) / 2000


curves = {
    routing: {scheme: [goodput(hops, scheme, routing) for hops in lengths] for scheme in names}
    for routing in ("static", "aodv")
}
lab.curves(lengths, curves["aodv"], xlabel="hops, AODV", ylabel="goodput (kbit/s)")

# %%
lab.curves(lengths, curves["static"], xlabel="hops, static routes", ylabel="goodput (kbit/s)")

# %% [markdown]
# With AODV each contention drop breaks a route, and schemes that prevent drops gain much: over six seeds marking
# about half as much again at 7 and 10 hops, pacing 40 to 70 % from 7 to 20 hops. At 4 hops nothing gains. With static
# routes little is left of it: pacing has 4 % more at 20 hops, and Link RED costs the longer the chain, since several
# nodes drop early, each on its own: a quarter at 20 hops. (Two seeds of 30 s are drawn here: do not read order into
# points that lie close.) Which routing the paper had is not said with its results; section 3 says that route breakage
# is not considered. `pacelab claims` has the verdicts.
#
# ## Two crossing flows (table 5)
# The paper's two flows through one node: NewReno starves one of them, Link RED with pacing makes them fair (Jain 0.5
# and 0.998). Look at several seeds before you believe either.


# %%
def crossing(scheme, seed):
    tried = Experiment(
        topology="cross", rate_bps=2_000_000, min_rto_s=1.0, scheme=scheme, seed=seed, duration_s=60
    )
    rates = [flow["goodput_bps"] / 1000 for flow in run(tried).run["flows"]]
    return " + ".join(f"{rate:.0f}" for rate in rates)


names = ("newreno", "link-pacing", "lred+pacing")
rows = [(scheme, *(crossing(scheme, seed) for seed in (1, 2, 3, 4))) for scheme in names]
lab.table(
    ("scheme", "seed 1", "seed 2", "seed 3", "seed 4"), rows, "kbit/s of both flows, 60 s, static routes."
)

# %% [markdown]
# **Read it.** NewReno is uneven in all four seeds, and which flow it starves is left to chance: the paper's half of the
# story holds. Link pacing by itself makes the two even in three seeds of four. With Link RED beside it they are uneven
# again in each seed, where the paper has a Jain index of 0.998. One run of one seed could have shown either.
#
# ## On real hosts

# %%
lab.on_real_hosts("lab3.lred", *(chain(4, scheme=scheme, duration_s=20) for scheme in ("newreno", "lred")))

# %% [markdown]
# ## What you can now say
# * Link RED halves the contention drops, and TCP is slower all the same: early drops at small windows cost timeouts,
#   at least twice as many as NewReno has.
# * Marking says the same without a loss: no timeout, and no goodput given up at 7 hops.
# * A scheme against contention drops gains much where each of them breaks a route, and little where none does. A
#   published gain is the gain over one routing protocol.
#
# ## Questions to take along
# 1. Change `MyLinkRed` to drop nothing but at the first node. Does that help on long chains, and why?
# 2. Link RED judges TCP's ACKs, too. What does dropping an ACK tell the sender?
#
# **Further reading.** Z. Fu et al.: *The Impact of Multihop Wireless Channel on TCP Performance*, IEEE Transactions on
# Mobile Computing 4 (2005), section 6. S. Floyd, V. Jacobson: *Random Early Detection Gateways for Congestion
# Avoidance*, IEEE/ACM Transactions on Networking 1 (1993). RFC 3168 (ECN).

# %% [markdown] tags=["instructor"]
# **For the instructor.** Question 1 (`self.node != 0 or ...` in `passes`): it costs less, and gains nothing. Over ten
# seeds of 100 s the class at all nodes has about 9 % less goodput than NewReno at 7 hops and 25 % less at 32, where
# each of 32 nodes drops on its own; at the first node alone about 4 and 8 % less. Question 2: nothing, ACKs are
# cumulative; it only makes the sender burstier.
# The exercise's class drops what PaceLab's drops, on another stream of random numbers: results differ within what seeds
# differ.
