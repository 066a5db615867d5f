# %% [markdown]
# # Lab 7: capstone, a pacer of your own
#
# **You will be able to** design a pacing scheme, test it on networks you know, and defend it by its score on networks
# you do not.
#
# **You need** labs 4 and 5. **Time:** 3 hours, or as long as you like. The computer needs seconds for each score.

# %%
import statistics
from collections import deque

from pacelab import Experiment, Pacer, lab, run, run_pacer

lab.back_ends()

# %% [markdown]
# ## The task
# Write a `Pacer`. One object per flow sits where TCP-GAP's estimator sat in lab 4: at the gateway for flows from the
# wire, at the source for the others. It hears of each round trip through the wireless part and says how long to wait
# between two packets. It sees nothing else: no topology, no other flows, no calls.
#
# **The score**, on each of five networks, is what you gain over NewReno, which has 0; 100 points at most:
#
# * goodput: 45 points at 1.25 times NewReno's;
# * fairness: 30 points when Jain's index of the TCP flows reaches 1;
# * calls: 25 points when the worst call reaches a MOS of 3.6;
# * where NewReno leaves no room in one of them, the others count more; less than NewReno's costs points;
# * with less than a fifth of NewReno's goodput nothing is gained. Silence protects every call.
#
# You practise on one set of networks. Your instructor scores on another one, of the same five kinds, which you have not
# seen: what you tune to the practice set will not carry over.

# %%
lab.table(("practice networks", "topology"), [(name, tried.topology) for name, tried in lab.networks()])

# %% [markdown]
# ## Where others stand
# Doing nothing (plain NewReno), and a pace of one packet per round trip:


# %%
class Nothing(Pacer):
    def measured(self, sample):
        pass


class OnePerRoundTrip(Pacer):
    def measured(self, sample):
        self.interval_s = sample.rtt_s


nothing, slow = lab.score(Nothing), lab.score(OnePerRoundTrip)
nothing

# %%
guess = lab.predict(
    "One packet per round trip, on these five networks: its score against doing nothing?",
    {
        "more than 5 points better": (5, 100),
        "within 5 points": (-5, 5),
        "more than 5 points worse": (-100, -5),
    },
)
guess

# %%
print(guess.against(slow.points - nothing.points))
slow

# %% [markdown]
# ## Your pacer
# TODO: write `measured`. `sample` has `now_s`, `rtt_s`, `hops`, `rate_bps`, `data_bytes`, `ack_bytes`. Ideas:
#
# * the four-hop delay of lab 4, with or without COV;
# * the smallest round trip seen lately is one without queues: pace by it, and slow down as round trips grow beyond it;
# * additive increase and multiplicative decrease of the rate, as TCP does with its window, but by delay.


# %%
class MyPacer(Pacer):
    def __init__(self):
        self.rtts_s = deque(maxlen=50)

    def measured(self, sample):
        # BEGIN SOLUTION
        data_s, ack_s = (8 * size / sample.rate_bps for size in (sample.data_bytes, sample.ack_bytes))
        wait_s = max(0, sample.rtt_s / sample.hops - data_s - ack_s) / 2
        ahead_s = min(4, sample.hops) * (wait_s + data_s)
        self.ahead_s = 0.7 * getattr(self, "ahead_s", ahead_s) + 0.3 * ahead_s
        self.rtts_s.append(sample.rtt_s)
        spread = statistics.stdev(self.rtts_s) / statistics.mean(self.rtts_s) if len(self.rtts_s) > 1 else 0
        self.interval_s = self.ahead_s * (1 + spread)
        # END SOLUTION


# %%
lab.check("lab7.pacer", MyPacer)

# %%
mine = lab.score(MyPacer)
mine

# %% [markdown]
# ## Look closer
# A score tells how good, not why. Compare your pacer with NewReno on a network of your choice.


# %%
def draw(topology, direction, routing):
    tried = Experiment(
        topology=topology, direction=direction, routing=routing, window_pkts=64, duration_s=15
    )
    return lab.series({"newreno": run(tried), "yours": run_pacer(tried, MyPacer)}, "goodput_bps", "rtt_s")


lab.explore(
    draw,
    topology=lab.choice("topology", ["cross-gateway", "parallel", "chain"]),
    direction=lab.choice("direction", ["mixed", "down", "up"]),
    routing=lab.choice("routing", ["static", "aodv"]),
)

# %% [markdown]
# ## The board
# Enter your score into a file. Your instructor may host one for all, scored on the unseen networks.

# %%
lab.enter("leaderboard.json", nothing)
lab.enter("leaderboard.json", mine)

# %% [markdown]
# How sure is a lead of one point? Score on other sets: any word makes one.

# %%
words = ["anna", "ben"]
rows = [
    (made.__name__, *(lab.score(made, word=word).points for word in words)) for made in (Nothing, MyPacer)
]
lab.table(("pacer", *words), rows, "Points on two other sets.")

# %% [markdown]
# ## On real hosts
# Pacers of your own run on `sim`. What the same network does with PaceLab's on real hosts:

# %%
real = Experiment(topology_options={"hops": 3}, direction="down", window_pkts=64, duration_s=20)
lab.on_real_hosts("lab7.pacing", real, real.vary(scheme="tcp-gap-nogc"))

# %% [markdown]
# ## What you can now say
# * To wait gains points, and to wait too long loses them: one packet per round trip is ahead of doing nothing on the
#   practice set, one per second is far behind it.
# * On each network of the figure above, the sample solution keeps nine tenths of NewReno's goodput or more.
# * A score holds for the networks it was scored on. Say which, and score on others before you believe a lead.
#
# ## Hand in
# A file with your class and what it needs, or this notebook (`pacelab check` tries it), and one page: what you tried,
# what you measured (with seeds and intervals), what you do not know. The page counts as much as the score.
#
# **Further reading.** A. Aggarwal, S. Savage, T. Anderson: *Understanding the Performance of TCP Pacing*, INFOCOM 2000.
# N. Cardwell et al.: *BBR: Congestion-Based Congestion Control*, ACM Queue 14 (2016).

# %% [markdown] tags=["instructor"]
# **For the instructor.** `python labs/score.py pacer.py:MyPacer --word SECRET --board board.json` scores a file on a
# set of your own; `docs/instructors.md` says how to host the board. Measured on the practice set: never waiting 0,
# TCP-GAP's estimator of lab 4 66.2, the sample solution (the same with half of the weight on COV) 56.0.
