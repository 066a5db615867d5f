# %% [markdown]
# # Lab 1: hidden, exposed, far apart
#
# **You will be able to** tell decode, sense and interference ranges apart; say which nodes disturb a link and which
# wait in vain; show what RTS/CTS mends, what it costs, and where it starves a link that loses next to nothing without
# it; explain capture and spatial reuse; say why a medium that is one queue shows none of these.
#
# **You need** lab 0. **Time:** 90 minutes, of which the computer needs one.

# %%
from pacelab import Experiment, lab, load_topology, run

UDP = {"rate_bps": 2_000_000, "duration_s": 10}
lab.back_ends()

# %% [markdown]
# ## Theory
# A station sends when it *senses* nobody. But collisions happen at the *receiver*, who is elsewhere. Three distances
# decide:
#
# * from within the **decode range**, 250 m here, a frame can be read;
# * from within the **sense range**, 550 m here, a station knows that somebody is sending, and waits;
# * from within the **interference range** a frame destroys another one at its receiver. This one belongs to a link and
#   not to a radio: the shorter the link, the stronger its own frame, and the nearer another sender must be to harm it.
#
# A receiver keeps the frame that it is receiving when the other one is at least 10 dB weaker: **capture**. Beyond 86 m
# power falls with the fourth power of the distance (two-ray ground).
#
# ### Exercise: how much stronger?


# %%
import math


def advantage_db(near_m, far_m):
    """How much stronger the near sender's frame arrives, in dB, when both are farther than 86 m."""
    # BEGIN SOLUTION
    return 40 * math.log10(far_m / near_m)
    # END SOLUTION


lab.check("lab1.capture", advantage_db)

# %% [markdown]
# ### Exercise: the interference range
# From how far away does a sender destroy a frame that comes over `link_m`, when `capture_db` more let it survive?
# Nobody disturbs a receiver who does not even sense him.


# %%
def interference_m(link_m, capture_db, sense_m):
    """The interference range of a link, in m."""
    # BEGIN SOLUTION
    return min(sense_m, link_m * 10 ** (capture_db / 40))
    # END SOLUTION


lab.check("lab1.range", interference_m)

# %% [markdown]
# ### Hidden and exposed
# * a **hidden terminal** is within the link's interference range of the receiver, and too far from the sender to know
#   of it;
# * an **exposed terminal** senses the sender and waits, although it is outside the interference range of the receiver.
#
# This is figure 1 of [Fu et al. 2005], drawn from our topology: nine nodes, 200 m apart, E sends to F. The paper takes
# the interference range to be 550 m, as if there were no capture. Who is hidden, who is exposed?

# %%
chain = load_topology("chain", hops=8, wired=False)
lab.link_ranges(chain, 4, 5, names="ABCDEFGHI", disturb_m=550)


# %%
def roles(sender_m, receiver_m, others_m, sense_m, disturb_m):
    """Names of the hidden and of the exposed nodes, two sets. `others_m`: name -> place on the line."""
    # BEGIN SOLUTION
    senses = {name for name, at in others_m.items() if abs(at - sender_m) <= sense_m}
    disturbs = {name for name, at in others_m.items() if abs(at - receiver_m) <= disturb_m}
    return disturbs - senses, senses - disturbs
    # END SOLUTION


lab.check("lab1.roles", roles)

# %%
lab.link_roles(chain, 4, 5, names="ABCDEFGHI", disturb_m=interference_m(200, 10, 550))

# %% [markdown]
# With capture a link of 200 m is disturbed from 356 m and nearer, and nobody is hidden from it any more: H, 400 m from
# F, is not. D has become exposed: its frame would spare F's reception of the data, though not E's of the ACK. Keep H in
# mind; it comes back below.
#
# ## Hidden
# Two senders, one receiver in the middle; each sender is out of the other's range (in this topology sense range and
# decode range are both 250 m). Both always have a packet to send. First one sender alone, to have a measure.

# %%
FAR = {"topology": "pairs", "topology_options": {"layout": "in-line", "apart": 5000.0}}
alone = {
    on: run(Experiment(**FAR, rts=on, **UDP)).run["flows"][0]["goodput_bps"] / 1000 for on in (False, True)
}
print(f"one pair alone, RTS/CTS off: {alone[False]:.0f} kbit/s of 2000")

# %%
hidden_guess = lab.predict(
    "Two hidden senders without RTS/CTS: what do both together get, as a share of what one gets alone?",
    {
        "about all of it, in turns": (0.8, 1.1),
        "about half: they collide now and then": (0.4, 0.8),
        "less than a fifth": (0.0, 0.2),
    },
)
hidden_guess

# %%
hidden = {on: run(Experiment(topology="hidden", rts=on, **UDP)) for on in (False, True)}
print(hidden_guess.against(hidden[False].goodput_bps / 1000 / alone[False]))
lab.flow_bars(
    {f"RTS {'on' if on else 'off'}": hidden[on] for on in hidden},
    reference=("alone, RTS off", alone[False]),
)

# %% [markdown]
# A data frame takes 6.3 ms at 2 Mbit/s. While one sender sends, the other draws a backoff of a few hundred
# microseconds and starts in the midst of it; both frames are lost, both back off, and so on until the retry limit
# drops the packet. With RTS/CTS only the short RTS can collide; the receiver's CTS silences the other sender for the
# whole exchange: each frame says how long the air will be taken, and who reads it keeps that as his **NAV** (network
# allocation vector) and does not send until it has run out.
#
# Look at it. Crossed blocks are collisions at the receiver n1, ↻3 is a third retry, ✖ a packet given up.

# %%
lab.air(*(Experiment(topology="hidden", rts=on, rate_bps=2_000_000) for on in (False, True)))

# %% [markdown]
# **Question.** What does RTS/CTS cost when nobody is hidden? Compare `alone[False]` with `alone[True]`. At which rate
# of the radio is the price, in per cent, the highest, and why?


# %%
def price(rate_mbps):
    far = {"layout": "in-line", "apart": 5000.0}
    pair = Experiment(topology="pairs", topology_options=far, rate_bps=rate_mbps * 10**6, duration_s=10)
    off, on = (run(pair.vary(rts=on)).goodput_bps for on in (False, True))
    return rate_mbps, off / 2000, on / 2000, 100 * (1 - on / off)


rows = [price(rate) for rate in (1, 2, 11)]
lab.table(
    ("rate (Mbit/s)", "RTS off (kbit/s)", "RTS on (kbit/s)", "price (%)"), rows, "One pair alone, per pair."
)

# %% [markdown] tags=["instructor"]
# **For the instructor.** RTS, CTS and the preambles go at 1 Mbit/s whatever the rate of the data, so the share of the
# handshake grows with the rate.

# %% [markdown]
# ## Exposed
# Two pairs back to back: n1 sends to n0, n2 sends to n3, the senders 200 m apart. At the other pair's receiver, 400 m
# away, a sender arrives 12 dB weaker than that receiver's own one, 200 m away. But each sender hears the other, and
# waits.

# %%
exposed_guess = lab.predict(
    "Two exposed senders, RTS/CTS off: what does one of them get, as a share of a pair alone?",
    {"all of it": (0.9, 1.1), "about half": (0.4, 0.6), "less than a fifth": (0.0, 0.2)},
)
exposed_guess

# %%
exposed = run(Experiment(topology="exposed", rts=False, **UDP))
print(exposed_guess.against(exposed.run["flows"][0]["goodput_bps"] / 1000 / alone[False]))
lab.flow_bars({"exposed": exposed}, reference=("alone, RTS off", alone[False]))

# %% [markdown]
# Nothing is lost here, so no counter of losses shows it: the air is wasted by silence. RTS/CTS does not help.
#
# ## Move the nodes
# Four layouts: each receiver to the right of its sender (*in-line*), receivers outside (*back-to-back*), between the
# senders (*facing*), or one receiver in the middle (*shared*, to 490 m: farther it decodes neither). Find, for each
# layout, where the pairs stop disturbing each other. Then set the sense range to 250 m: what gets better, what worse?


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

# %% [markdown]
# Wherever the controls stand: senders that sense each other share one pair's goodput, evenly or not (whose receiver
# is the nearer one to the other sender?). Where no node of one pair senses a node of the other, each pair has all of
# it. And without RTS/CTS a link with a hidden terminal keeps less than a fifth.
#
# Three places worth a stop:
#
# * *shared*, 310 m, sense range 250 m: hidden. With 550 m the same senders hear each other, and share.
# * *in-line*, 310 m, sense range 250 m, RTS off: one pair gets everything, the other one nothing. n2 is 110 m from n1,
#   which receives, and out of n0's range: hidden for one link only. Why does RTS/CTS hardly mend it? (Whose CTS would
#   n2 have to hear, and when is it sending itself?)
# * *back-to-back*, 560 m: beyond the sense range. Both pairs have the whole rate: **spatial reuse**.
#
# ## The hidden terminal that is none
# Back to H of figure 1: it is 600 m from E, does not sense it, and may start at any time. Let it send to I while E
# sends to F. At F it is 400 m away against E's 200 m, 12 dB weaker.

# %%
H_SENDS = {"topology": "pairs", "topology_options": {"layout": "in-line", "apart": 600.0}}
h_guess = lab.predict(
    "H sends to I all the time. E's goodput with RTS/CTS on, as a share of that with RTS/CTS off?",
    {
        "more: RTS/CTS protects E's frames": (1.05, 100.0),
        "about the same, less the price of the handshake": (0.8, 1.05),
        "less than a fifth": (0.0, 0.2),
    },
)
h_guess

# %%
beside_h = {on: run(Experiment(**H_SENDS, rts=on, **UDP)) for on in (False, True)}
off, on = (beside_h[rts].run["flows"][0]["goodput_bps"] for rts in (False, True))
print(h_guess.against(on / off))
lab.flow_bars(
    {f"RTS {'on' if on else 'off'}": beside_h[on] for on in beside_h},
    reference=("alone, RTS off", alone[False]),
)

# %% [markdown]
# Without RTS/CTS both pairs have nearly the whole rate: capture saves E's frames. **RTS/CTS starves this link.** What
# becomes of E's frames at F?

# %%
lab.fates(*(Experiment(**H_SENDS, rts=on, **UDP) for on in (False, True)), sender=0, receiver=1)

# %% [markdown]
# A data frame is long. F is nearly always at one when H starts, H's frame is the weaker and the later, and F keeps
# what it has. An RTS is short, and F is mostly silent: then H's frame is what F begins with, and `ns2` leaves no frame
# for a later one, however strong. Of the RTSs that F does read it may answer less than a fifth: it senses H (400 m),
# cannot read it, and in ns-2 neither a busy air nor the wait after an unreadable frame (EIFS) lets a CTS out (∅C
# below). An ACK, which is all that F owes without RTS/CTS, is sent without listening.
#
# The names: E is n0, F n1, H n2, I n3.

# %%
lab.air(*(Experiment(**H_SENDS, rts=on, rate_bps=2_000_000) for on in (False, True)))

# %% [markdown]
# Is that so in the world, or in this model of it? `ns2` answers an RTS when the air is idle and its NAV has run out,
# and keeps EIFS as a NAV. The standard asks the NAV alone, and EIFS is none. Run the same with the other radio presets.


# %%
def beside(radio):
    pairs = Experiment(**H_SENDS, radio=radio, **UDP)
    rates = [
        flow["goodput_bps"] / 1000 for on in (False, True) for flow in run(pairs.vary(rts=on)).run["flows"]
    ]
    return radio, *rates


rows = [beside(radio) for radio in ("ns2", "standard", "sinr")]
header = ("radio preset", "RTS off: E→F", "H→I", "RTS on: E→F", "H→I")
lab.table(header, rows, "kbit/s; one pair alone gets 1681 without RTS/CTS and 1531 with it (ns2).")

# %% [markdown]
# Three receivers, three fates of one link:
#
# * `ns2`: RTS off costs E next to nothing, RTS on starves it. ns-2.35 itself gives the same.
# * `standard`: RTS off costs E about 30 % (mean of seeds 1 to 10), and RTS on mends most of that. A receiver that has
#   begun with H's frame stays with it to its end, and misses all that E sends meanwhile; but F may answer the RTS that
#   it reads.
# * `sinr`: H harms nobody. A frame too weak to be read is noise here; a receiver does not begin with it.
#
# So "hidden" is no property of a place on a map. It follows from distance, power, what a receiver begins with, and who
# may answer. Papers on ns-2 have the first of these rows in their results.

# %% [markdown]
# ## Spatial reuse

# %%
reuse = run(Experiment(topology="reuse", rts=False, **UDP))
lab.flow_bars({"two pairs 1 km apart": reuse}, reference=("alone, RTS off", alone[False]))

# %% [markdown]
# On a chain this is what makes a long path work at all: in figure 1 above A→B and E→F can send at once. Every fourth
# hop at a time is the most a chain can do, and lab 2 finds what that means for TCP's window.
#
# ## Capture between hidden senders
# Two hidden senders 300 m apart; now move the receiver towards n0. Where is the step, and does your formula say so?
# Then try the other radio presets: `ns2` takes a frame that came first and is 10 dB stronger, but never a later one;
# `standard` judges by the signal against the interference of every part of a frame; `sinr` decodes with an error rate.


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

# %%
for shift in (40, 45):
    near, far = 150 - shift, 150 + shift
    print(f"shift {shift} m: {near} m against {far} m, {advantage_db(near, far):.1f} dB")

# %% [markdown]
# Capture is no blessing for all: it saves the frames of the near sender and lets the far one starve. Fairness needs
# more than fewer collisions. (With `ns2` and `standard`, without RTS/CTS, the near one has less than a fifth up to 40
# m, and more than nine tenths from 45 m on, to either side. The far one never has a fifth, with any preset.)
#
# ## Why stock wmediumd shows none of this
# Mininet-WiFi's usual medium, `wmediumd`, delivers a frame at `max(now, last expiry) + send time`, where *last expiry*
# is over the queues of **all** stations. It senses nothing and nothing collides.
#
# ### Exercise: the medium that is one queue


# %%
def last_through_ms(arrivals_ms, frame_ms):
    """When the last of these frames is through, when all stations share one queue."""
    # BEGIN SOLUTION
    free_ms = 0.0
    for at_ms in sorted(arrivals_ms):
        free_ms = max(at_ms, free_ms) + frame_ms
    return free_ms
    # END SOLUTION


lab.check("lab1.one_queue", last_through_ms)

# %% [markdown]
# Whoever sends, wherever: all frames wait for one another. That is what we measured with it under Mininet-WiFi, beside
# what our medium gives for the same four cases.

# %%
lab.stock_wmediumd()

# %% [markdown]
# Hidden terminals lose nothing there (no retries at all), and pairs 2 km apart halve each other's rate. A scheme
# against hidden terminals has nothing to mend on such a medium, and the labs that follow would show nothing.
#
# ## On real hosts
# The hidden pair with real Linux hosts.

# %%
lab.on_real_hosts("lab1.hidden", *(Experiment(topology="hidden", rts=on, **UDP) for on in (False, True)))

# %% [markdown]
# ## What you can now say
# * Two hidden senders together lose more than four fifths of what one alone would carry. RTS/CTS brings nearly all of
#   it back.
# * Two exposed senders share what each could have: the air is wasted by silence, and no counter of losses shows it.
# * RTS/CTS can starve a link that loses next to nothing without it.
# * Who is hidden depends on the receiver, too: the same places, with another radio preset, give another answer.
#
# ## Questions to take along
# 1. With a sense range of 250 m there are more hidden terminals, with 550 m more exposed ones. Which is worse for two
#    pairs at a random distance? Use `draw`'s experiment in a loop.
# 2. RTS/CTS silences the neighbours of the receiver that *decode* the CTS (250 m). Take 550 m for the interference
#    range, as the paper does: which hidden terminals of figure 1 does a CTS reach?
# 3. *facing*, 610 m, sense range 550 m: neither sender senses the other, capture would save every data frame, and yet
#    both pairs together get no more than one alone. Who else is sending there?
#
# **Further reading.** Z. Fu et al.: *The Impact of Multihop Wireless Channel on TCP Performance*, IEEE Transactions on
# Mobile Computing, 2005, section 3. IEEE 802.11, the distributed coordination function. `docs/instruments.md`: the
# timeline's signs.

# %% [markdown] tags=["instructor"]
# **For the instructor.** Question 1: hidden terminals starve somebody, exposed ones cost everybody a little. Over the
# four layouts, 60 to 810 m in steps of 25, without RTS: at 250 m a pair gets less than 50 kbit/s in 8 of 124 places, at
# 550 m in none; RTS/CTS mends all eight, and takes 13 % of the sum at 550 m. Question 2: none. H is 400 m from F; with
# 550 m of interference and 250 m of decoding no CTS reaches H. RTS/CTS mends the hidden pair of this lab because its
# ranges are equal there. Question 3: the receivers, 210 m apart: each one's ACK arrives at the other nearly as strong
# as the data that it expects. *In-line*, 310 m, 250 m: n2 does hear n1's CTS while it listens, but n0's RTS mostly
# arrives at n1 while n2 is on the air, and n1 does not answer. *The hidden terminal that is none*: students who answer
# "more" have read that RTS/CTS is against hidden terminals; ask them who must be able to send for it to work.
