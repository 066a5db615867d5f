# %% [markdown]
# # Lab 1: hidden, exposed, far apart
#
# **You will be able to** distinguish the decode range, the sense range and the interference range; say which nodes
# interfere with a link and which nodes wait without need; show what RTS/CTS fixes and what RTS/CTS costs; explain
# capture and spatial reuse; and say why a network emulator that puts the frames of all stations into one queue shows
# none of these effects.
#
# **You need** lab 0. **Time:** 90 minutes (one to three minutes of computing).
#
# **After you reopen this notebook**, select the cell at which you stopped and choose *Run > Run All Above Selected
# Cell*. Then run your cell.

# %%
from pacelab import Experiment, lab, load_topology, run

UDP = {"rate_bps": 2_000_000, "duration_s": 10}
lab.back_ends()

# %% [markdown]
# ## Theory
# A station sends when it *senses* no other transmission. But collisions happen at the *receiver*, which is somewhere
# else. Three distances matter:
#
# * The **decode range** (250 m here): a station can decode a frame sent from within this distance.
# * The **sense range** (550 m here): a station senses a transmission from within this distance, and waits.
# * The **interference range**: a frame sent from within this distance of a receiver destroys the frame that the
#   receiver is receiving. This range belongs to a link, not to a radio. On a shorter link the wanted frame is stronger,
#   so another sender must be nearer to destroy it.
#
# A receiver keeps the frame that it is receiving if the other frame is at least 10 dB weaker. This is called
# **capture**. Beyond 86 m, power falls with the fourth power of the distance (two-ray ground model).
#
# The next cell defines two functions: one for the path loss beyond 86 m, and one for the interference range with
# capture. `advantage_db` says how much stronger a frame arrives from `near_m` than from `far_m`. `interference_m` is
# the interference range of a link of `link_m` metres: a frame over this link survives if it arrives at least
# `capture_db` stronger than the other sender's frame. A sender that the receiver cannot sense does no harm.

# %%
import math


def advantage_db(near_m, far_m):
    return 40 * math.log10(far_m / near_m)


def interference_m(link_m, capture_db, sense_m):
    return min(sense_m, link_m * 10 ** (capture_db / 40))


print(f"interference range of a link of 200 m: {interference_m(200, 10, 550):.0f} m")

# %% [markdown]
# ### Hidden and exposed
# * A **hidden terminal** is within the interference range of the link's receiver, but too far from the link's sender to
#   sense it.
# * An **exposed terminal** senses the link's sender and waits, although it is outside the interference range of the
#   link's receiver.
#
# The picture shows figure 1 of [Fu et al. 2005], drawn from our topology. Nine nodes are 200 m apart, and E sends to
# F. The paper uses an interference range of 550 m, as if there were no capture. Which nodes are hidden, and which are
# exposed?

# %%
chain = load_topology("chain", hops=8, wired=False)
lab.link_ranges(chain, 4, 5, names="ABCDEFGHI", disturb_m=550)


# %%
def roles(sender_m, receiver_m, others_m, sense_m, disturb_m):
    """Two sets of names: the hidden and the exposed nodes. `others_m`: name -> place on the line."""
    # BEGIN SOLUTION
    senses = {name for name, at in others_m.items() if abs(at - sender_m) <= sense_m}
    disturbs = {name for name, at in others_m.items() if abs(at - receiver_m) <= disturb_m}
    return disturbs - senses, senses - disturbs
    # END SOLUTION


lab.check("lab1.roles", roles)

# %%
lab.link_roles(chain, 4, 5, names="ABCDEFGHI", disturb_m=interference_m(200, 10, 550))

# %% [markdown]
# With capture, the interference range of a 200 m link is 356 m. H is 400 m from F, so H is no longer hidden. No other
# node was hidden. By the definition above, node D is now exposed: D senses E and waits, although a frame from D would
# not destroy the data frame at F. But D has a good reason to wait: a frame from D would destroy the ACK that F sends
# to E. Remember node H. A later part of this lab uses H again.
#
# ## Hidden
# Two senders send to one receiver in the middle. Each sender is out of the other sender's range. (In this topology, the
# sense range and the decode range are both 250 m.) Both senders always have a packet to send. First measure one sender
# alone, for comparison.

# %%
FAR = {"topology": "pairs", "topology_options": {"layout": "in-line", "apart": 5000.0}}
alone = {
    on: run(Experiment(**FAR, rts=on, **UDP)).run["flows"][0]["goodput_bps"] / 1000 for on in (False, True)
}
print(f"one pair alone, RTS/CTS off: {alone[False]:.0f} kbit/s of 2000")

# %%
hidden_guess = lab.predict(
    "RTS/CTS is off. Which share of the goodput of one sender alone do two hidden senders get in total?",
    {
        "about all of it, in turns": (0.8, 1.1),
        "about half: they collide now and then": (0.4, 0.8),
        "less than a fifth": (0.0, 0.2),
    },
)
hidden_guess


# %%
@hidden_guess.measure
def two_hidden_senders():
    hidden = {on: run(Experiment(topology="hidden", rts=on, **UDP)) for on in (False, True)}
    named = {f"RTS {'on' if on else 'off'}": hidden[on] for on in hidden}
    bars = lab.flow_bars(named, reference=("alone, RTS off", alone[False]))
    return hidden[False].goodput_bps / 1000 / alone[False], bars


# %% [markdown] tags=["after"]
# A data frame takes 6.3 ms at 2 Mbit/s. While one sender sends, the other sender draws a backoff of a few hundred
# microseconds and then starts in the middle of that frame. Both frames are lost, and both senders back off. This
# repeats until a sender reaches the retry limit and drops the packet.
#
# With RTS/CTS only the short RTS can collide. The receiver's CTS silences the other sender for the whole exchange. Each
# frame states how long the exchange will last. A station that decodes the frame stores this time as its **NAV**
# (network allocation vector) and does not send until the NAV has expired.

# %% [markdown]
# Look at the timeline. A crossed block is a collision at the receiver n1. The sign ↻3 marks a third retry, and ✖ marks
# a packet that the sender gave up.

# %%
lab.air(*(Experiment(topology="hidden", rts=on, rate_bps=2_000_000) for on in (False, True)))

# %% [markdown]
# **Question.** What does RTS/CTS cost when no node is hidden? Compare `alone[False]` with `alone[True]`. At which rate
# of the radio does RTS/CTS cost most, in per cent, and why?


# %%
def price(rate_mbps):
    far = {"layout": "in-line", "apart": 5000.0}
    pair = Experiment(topology="pairs", topology_options=far, rate_bps=rate_mbps * 10**6, duration_s=10)
    off, on = (run(pair.vary(rts=on)).goodput_bps for on in (False, True))
    return rate_mbps, off / 2000, on / 2000, 100 * (1 - on / off)


rows = [price(rate) for rate in (1, 2, 11)]
lab.table(
    ("rate (Mbit/s)", "RTS off (kbit/s)", "RTS on (kbit/s)", "cost (%)"),
    rows,
    "Goodput of one pair that sends alone.",
)

# %% [markdown] tags=["instructor"]
# **For the instructor.** RTS, CTS and the preambles always use 1 Mbit/s, whatever rate the data frames use. So the
# share of the handshake grows with the rate.

# %% [markdown]
# ## Exposed
# There are two pairs, back to back, with the nodes n0, n1, n2 and n3 from left to right: n1 sends to n0, and n2 sends
# to n3. The senders are 200 m apart. Each receiver is 200 m from its own sender and 400 m from the other sender, so the
# other sender's frame arrives 12 dB weaker. But each sender senses the other sender, and waits.

# %%
exposed_guess = lab.predict(
    "RTS/CTS is off. "
    "Compare the goodput of one of the two exposed pairs with the goodput of a pair alone:",
    {"all of it": (0.9, 1.1), "about half": (0.4, 0.6), "less than a fifth": (0.0, 0.2)},
)
exposed_guess


# %%
@exposed_guess.measure
def two_exposed_senders():
    exposed = run(Experiment(topology="exposed", rts=False, **UDP))
    bars = lab.flow_bars({"exposed": exposed}, reference=("alone, RTS off", alone[False]))
    return exposed.run["flows"][0]["goodput_bps"] / 1000 / alone[False], bars


# %% [markdown] tags=["after"]
# No packet is lost here, so no loss counter shows the problem. The senders waste airtime because they wait. RTS/CTS
# does not help.

# %% [markdown]
# ## Move the nodes
# There are four layouts. *in-line*: each receiver is to the right of its sender. *back-to-back*: the senders are
# between the receivers. *facing*: the receivers are between the senders. *shared*: both senders send to one receiver in
# the middle. (The figure stops at 490 m in this layout, because the receiver decodes neither sender if they are farther
# apart.) For each layout except *shared*, find the distance beyond which each pair keeps at least nine tenths of its
# full goodput. Then set the sense range to 250 m. What gets better, and what gets worse?


# %%
def draw(layout, apart, sense, rts):
    apart = min(apart, 490) if layout == "shared" else apart
    net = {"layout": layout, "apart": float(apart), "sense": float(sense)}
    experiment = Experiment(topology="pairs", topology_options=net, rts=rts, **UDP)
    return lab.pairs_picture(run(experiment), experiment.network, alone_kbps=alone[rts])


lab.explore(
    draw,
    layout=lab.choice("layout", ["in-line", "back-to-back", "facing", "shared"]),
    apart=lab.slide("distance of the senders (m)", 60, 810, step=50, start=310),
    sense=lab.choice("sense range (m)", [250, 550], start=550),
    rts=lab.switch("RTS/CTS", start=False),
)

# %% [markdown] tags=["after"]
# At every setting:
#
# * Two senders that sense each other share the goodput of one pair. The two shares may be unequal. (If the
#   shares are unequal, which receiver is nearer to the other pair's sender?)
# * If no node of one pair senses a node of the other pair, each pair gets its full goodput.
# * Without RTS/CTS, a link with a hidden terminal keeps less than a fifth of its goodput.

# %% [markdown]
# Look at these three settings:
#
# * *shared*, 310 m, sense range 250 m: the senders are hidden from each other. With 550 m the same senders sense each
#   other and share the channel.
# * *in-line*, 310 m, sense range 250 m, RTS off: one pair gets everything, the other pair nothing. n2 is 110 m from the
#   receiver n1 and out of the range of the sender n0. So n2 is a hidden terminal for the link n0→n1, but n0 is not
#   hidden for the link n2→n3. Why does RTS/CTS hardly help? (Whose CTS would n2 have to decode, and when is n2 itself
#   sending?)
# * *back-to-back*, 560 m: the senders are beyond the sense range. Both pairs get their full goodput: **spatial reuse**.
#
# ## A sender outside the interference range
# Return to node H in figure 1. H is 600 m from E, does not sense E, and may start sending at any time. Let H send to I
# while E sends to F. At F, H's frames arrive from 400 m and E's from 200 m, so H's frames are 12 dB weaker. The
# interference range of this link is 356 m, so H is not a hidden terminal.

# %%
H_SENDS = {"topology": "pairs", "topology_options": {"layout": "in-line", "apart": 600.0}}
h_guess = lab.predict(
    "H sends to I all the time. What is E's goodput with RTS/CTS on, compared with RTS/CTS off?",
    {
        "more: RTS/CTS protects E's frames": (1.05, 100.0),
        "about the same, less the cost of the handshake": (0.8, 1.05),
        "less than a fifth": (0.0, 0.2),
    },
)
h_guess


# %%
@h_guess.measure
def beside_h():
    runs = {f"RTS {name}": run(Experiment(**H_SENDS, rts=name == "on", **UDP)) for name in ("off", "on")}
    off, on = (result.run["flows"][0]["goodput_bps"] for result in runs.values())
    return on / off, lab.flow_bars(runs, reference=("alone, RTS off", alone[False]))


# %% [markdown] tags=["after"]
# Without RTS/CTS both pairs get nearly their full goodput: capture saves E's frames. **RTS/CTS starves this link.**

# %% [markdown]
# What happens to E's frames at F?

# %%
lab.fates(*(Experiment(**H_SENDS, rts=on, **UDP) for on in (False, True)), sender=0, receiver=1)

# %% [markdown]
# A data frame is long. When H starts, F is nearly always receiving a data frame. H's frame is weaker and later, so F
# keeps the frame that it is receiving.
#
# An RTS is short, so most of the time F is not receiving a frame from E. Therefore H's frame usually reaches F first,
# and F locks on to H's frame. With the radio preset `ns2`, a receiver never switches to a later frame, even if the
# later frame is much stronger.
#
# F does decode some of E's RTSs. But F senses H, which is 400 m away, and cannot decode H's frames. In ns-2, a
# station sends no CTS while it senses the channel busy, nor during the waiting time after an undecodable frame
# (EIFS). Therefore F is allowed to answer less than a fifth of the RTSs that it decodes. The timeline below shows an
# RTS without an answer as ∅C. Without RTS/CTS, F answers E's data frame only with an ACK. A station sends an ACK
# without sensing the channel first, so F is not blocked.
#
# In the timeline, E is n0, F is n1, H is n2, and I is n3.

# %%
lab.air(*(Experiment(**H_SENDS, rts=on, rate_bps=2_000_000) for on in (False, True)))

# %% [markdown]
# Does this happen in the real world, or only in this model? A station in `ns2` answers an RTS if the channel is idle
# and its NAV has expired, and it treats EIFS like a NAV. The standard requires only an expired NAV, and EIFS is not a
# NAV. Run the same experiment with the other radio presets.


# %%
def beside(radio):
    pairs = Experiment(**H_SENDS, radio=radio, **UDP)
    rates = [
        flow["goodput_bps"] / 1000 for on in (False, True) for flow in run(pairs.vary(rts=on)).run["flows"]
    ]
    return radio, *rates


rows = [beside(radio) for radio in ("ns2", "standard", "sinr")]
header = ("radio preset", "RTS off: E→F", "H→I", "RTS on: E→F", "H→I")
lab.table(
    header, rows, "kbit/s over 10 s; one pair alone gets 1681 without RTS/CTS and 1531 with it (ns2)."
)

# %% [markdown]
# The same link has a different result with each of the three receiver models:
#
# * `ns2`: with RTS/CTS off, E loses next to nothing. With RTS/CTS on, E starves. ns-2.35 itself gives the same result.
# * `standard`: with RTS/CTS off, E loses about 30 % of its goodput (mean of seeds 1 to 10). With RTS/CTS on, E keeps
#   more than nine tenths of the goodput that it would have alone with RTS/CTS. If F has locked on to a frame from H, F
#   receives that frame until it ends, and misses everything that E sends meanwhile. But F is allowed to answer each RTS
#   that F decodes.
# * `sinr`: H does no harm at all. In this model, a frame that is too weak to decode counts as noise, and a receiver
#   does not lock on to it.
#
# So a map of the nodes does not tell you which senders do harm. Whether a distant sender harms a link depends on
# distance, on power, on which frame a receiver locks on to, and on which stations may answer. Papers that used ns-2
# show the result of the preset `ns2`.

# %% [markdown]
# ### Exercise: starve a link by RTS/CTS
# Now place H so that RTS/CTS starves the link. All four nodes are on one line, in the order E, F, H, I. E sends to F
# over `link_m` metres, and H sends to I over the same distance. Stations sense each other over distances up to
# `sense_m` metres. Return a distance from E to H at which E→F keeps its goodput without RTS/CTS, but starves with
# RTS/CTS (preset `ns2`). `pacelab demo solve-starve` opens the same problem in the browser, with nodes to drag.


# %%
def starving_m(link_m, sense_m):
    """The distance from E to H, in m."""
    # BEGIN SOLUTION
    nearest = max(sense_m, link_m + interference_m(link_m, 10, sense_m))
    farthest = link_m + sense_m
    return (nearest + farthest) / 2
    # END SOLUTION


lab.check("lab1.starve", starving_m)

# %% [markdown]
# ## Spatial reuse

# %%
reuse = run(Experiment(topology="reuse", rts=False, **UDP))
lab.flow_bars({"two pairs 1 km apart": reuse}, reference=("alone, RTS off", alone[False]))

# %% [markdown]
# ### Exercise: two pairs with full goodput, as close together as possible
# Two pairs send without RTS/CTS: n0 to n1, and n2 to n3. The order on the line is n1, n0, n2, n3 (`back-to-back`) or
# n0, n1, n2, n3 (`in-line`). Return the smallest distance of the senders n0 and n2 at which each pair has its full
# goodput, that is, at least 95 % of the goodput of a pair that sends alone. The check accepts up to 50 m more than
# needed.


# %%
def nearest_m(layout, link_m, sense_m):
    """The distance of the two senders, in m. `layout` is "back-to-back" or "in-line"."""
    # BEGIN SOLUTION
    if layout == "back-to-back":
        return sense_m + 10
    return max(sense_m, link_m + interference_m(link_m, 10, sense_m)) + 10
    # END SOLUTION


lab.check("lab1.reuse", nearest_m)

# %% [markdown]
# Spatial reuse is what makes a long chain useful: in figure 1 above, A can send to B while E sends to F. With the
# interference range of the paper (550 m), at best every fourth hop of a chain can be active at the same time. Lab 2
# shows what this means for TCP's window.
#
# ## Capture between hidden senders
# Two hidden senders are 300 m apart. How many metres must you move the receiver from the middle towards n0 until the
# goodput of n0 rises sharply? Then try the other radio presets. With `ns2` a receiver keeps an earlier frame that is
# 10 dB stronger, but never switches to a later frame. `standard` compares the signal with the interference in every
# part of a frame. `sinr` computes an error probability from the ratio of the signal to interference and noise, and then
# draws at random whether the frame is decoded.


# %%
def capture(shift, radio, rts):
    net = {"layout": "shared", "apart": 300.0, "shift": float(shift), "sense": 250.0}
    tried = Experiment(
        topology="pairs", topology_options=net, radio=radio, rts=rts, rate_bps=2_000_000, duration_s=5
    )
    return lab.pairs_picture(run(tried), tried.network, alone_kbps=alone[rts])


lab.explore(
    capture,
    shift=lab.slide("receiver nearer to n0 by (m)", -90, 90, step=5, start=0),
    radio=lab.choice("radio preset", ["ns2", "standard", "sinr"]),
    rts=lab.switch("RTS/CTS", start=False),
)

# %% [markdown]
# ### Exercise: as little as possible
# Two hidden senders are `apart_m` metres apart (preset `ns2`, RTS/CTS off). Return how far the receiver must move
# from the middle towards n0, so that n0 has nine tenths of the goodput of a sender that sends alone. The check
# accepts up to 10 m more than needed.


# %%
def shift_m(apart_m):
    """How far the receiver is from the middle, in m."""
    # BEGIN SOLUTION
    ratio = 10 ** (10 / 40)
    return apart_m / 2 * (ratio - 1) / (ratio + 1) + 5
    # END SOLUTION


lab.check("lab1.shift", shift_m)

# %%
for shift in (40, 45):
    near, far = 150 - shift, 150 + shift
    print(f"shift {shift} m: {near} m against {far} m, {advantage_db(near, far):.1f} dB")

# %% [markdown]
# Capture saves the near sender's frames, but the far sender starves. So capture helps only one of the two senders, and
# the shares become unfair. Compare each sender's goodput without RTS/CTS with the goodput of one pair alone. With `ns2`
# and `standard`, the near sender gets less than a fifth if the shift is 40 m or less, and more than nine tenths if the
# shift is 45 m or more. The result is the same for a shift to the left and to the right. With each preset, the far
# sender gets less than a fifth.
#
# ## Why stock wmediumd shows none of this
# Mininet-WiFi emulates a wireless network with real Linux hosts. A separate program, the *medium*, decides which host
# receives each frame, and when. Mininet-WiFi can use the medium `wmediumd`. wmediumd models neither carrier sense
# nor collisions. It delivers a frame at `max(now, last expiry) + airtime`. Here *airtime* is the time that wmediumd
# calculates for sending the frame. *Last expiry* is the time at which wmediumd finishes the last frame in its queue.
# The queue holds the frames of **all** stations.
#
# ### Exercise: the medium with a single queue


# %%
def last_through_ms(arrivals_ms, frame_ms):
    """Time in ms at which the last frame has been sent, if all stations share one queue."""
    # BEGIN SOLUTION
    free_ms = 0.0
    for at_ms in sorted(arrivals_ms):
        free_ms = max(at_ms, free_ms) + frame_ms
    return free_ms
    # END SOLUTION


lab.check("lab1.one_queue", last_through_ms)

# %% [markdown]
# In such a medium, every frame waits for the frames of all other stations, however far apart the stations are. The
# table shows what we measured with wmediumd under Mininet-WiFi, next to PaceLab's results for the same four cases.

# %%
lab.stock_wmediumd()

# %% [markdown]
# With stock wmediumd, hidden terminals lose nothing (no frame is sent a second time), and two pairs 2 km apart halve
# each other's goodput. On such a medium, a scheme against hidden terminals has nothing to fix. The following labs use
# PaceLab's own medium, which models carrier sense and collisions.
#
# ## On real hosts
# This cell runs the hidden pair with real Linux hosts.

# %%
lab.on_real_hosts("lab1.hidden", *(Experiment(topology="hidden", rts=on, **UDP) for on in (False, True)))

# %% [markdown]
# ## What you can now say

# %% [markdown] tags=["after"]
# * Two hidden senders together carry less than a fifth of what one sender alone carries. RTS/CTS recovers nearly all of
#   the loss.
# * Two exposed senders share the goodput that each of them could have alone. They waste airtime because they wait, and
#   no loss counter shows this waste.
# * RTS/CTS can starve a link that loses next to nothing without it.
# * Whether a sender outside the interference range harms a link also depends on the receiver: the same positions give
#   another answer with another radio preset.

# %% [markdown]
# ## Questions to think about
# 1. A sense range of 250 m gives more hidden terminals, and a sense range of 550 m gives more exposed terminals. Which
#    sense range is worse for two pairs at a random distance? Run the experiment of `draw` in a loop.
# 2. RTS/CTS silences those neighbours of the receiver that *decode* the CTS (250 m). Assume an interference range of
#    550 m, as the paper does. Which hidden terminals of figure 1 does a CTS reach?
# 3. *facing*, 610 m, sense range 550 m: neither sender senses the other, and capture would save every data frame. Yet
#    both pairs together get no more than one pair alone. Which other nodes are sending?
#
# **Further reading.** Z. Fu et al.: *The Impact of Multihop Wireless Channel on TCP Performance*, IEEE Transactions on
# Mobile Computing, 2005, section 3. IEEE 802.11, the distributed coordination function. `docs/instruments.md`: the
# symbols of the timeline.

# %% [markdown]
# ### Your answers
# Double-click here and write your answers. They are part of what you hand in.
#
# 1. ...
# 2. ...
# 3. ...

# %% [markdown] tags=["instructor"]
# **For the instructor.** Question 1: the sense range of 250 m is worse here. Hidden terminals starve one pair; exposed
# terminals make two pairs share the goodput of one pair. We ran the four layouts at 60 to 810 m in steps of 25 m,
# without RTS/CTS. The mean goodput of a pair is 969 kbit/s with a sense range of 250 m, and 1012 kbit/s with 550 m.
# With a sense range of 250 m, one of the pairs gets less than 50 kbit/s in 8 of 124 runs; with a sense range of 550 m,
# in none. RTS/CTS fixes all eight runs. With a sense range of 550 m, RTS/CTS costs 13 % of the goodput of all pairs
# together.
#
# Question 2: none. H is 400 m from F. With an interference range of 550 m and a decode range of 250 m, no CTS reaches
# H. RTS/CTS fixes the hidden pair of this lab because, in that topology, the interference range and the decode range
# are equal.
#
# Question 3: the receivers are also sending, and they are 210 m apart. The ACK of one receiver arrives at the other
# receiver nearly as strong as the data frame that the other receiver is waiting for.
#
# *In-line*, 310 m, 250 m: n2 does decode n1's CTS while n2 is not sending. But most of n0's RTSs arrive at n1 while n2
# is sending, so n1 does not answer.
#
# *A sender outside the interference range*: students who answer "more" have learned that RTS/CTS works against hidden
# terminals. Ask these students which station must be free to send so that RTS/CTS can work.
