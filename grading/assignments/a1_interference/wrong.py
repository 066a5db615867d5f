"""Planted mistakes of assignment 1."""

from __future__ import annotations

from pacelab.grading.assignments.planted import Planted

WRONG = (
    Planted(
        name="along-the-line",
        misconception="only the x coordinate counts",
        changes=(
            ("return dist(a, b) <= DECODE_M", "return abs(a[0] - b[0]) <= DECODE_M"),
            ("return dist(a, b) <= SENSE_M", "return abs(a[0] - b[0]) <= SENSE_M"),
        ),
        loses=("ranges",),
    ),
    Planted(
        name="edge-excluded",
        misconception="up to 550 m does not include 550 m",
        changes=(("return dist(a, b) <= SENSE_M", "return dist(a, b) < SENSE_M"),),
        loses=("ranges",),
    ),
    Planted(
        name="free-space",
        misconception="power falls with the square of the distance",
        changes=(("** 4 >= 10", "** 2 >= 10"),),
        loses=("capture",),
    ),
    Planted(
        name="no-exposed",
        misconception="senders back to back do not wait for each other",
        changes=(
            (
                "if senses(sender, other_sender):",
                "if senses(sender, other_sender) and senses(sender, other_receiver) "
                "and senses(other_sender, receiver):",
            ),
        ),
        loses=("sharing",),
    ),
    Planted(
        name="one-receiver",
        misconception="only the first link's receiver can be disturbed",
        changes=(
            (
                "if senses(sender, other_receiver) or senses(other_sender, receiver):",
                "if senses(sender, other_receiver):",
            ),
        ),
        loses=("hiding", "predictions"),
    ),
    Planted(
        name="receivers-too",
        misconception="receivers that hear each other disturb each other",
        changes=(
            (
                "or senses(other_sender, receiver):",
                "or senses(other_sender, receiver) or senses(receiver, other_receiver):",
            ),
        ),
        loses=("independence",),
    ),
    Planted(
        name="one-slot-each",
        misconception="a schedule without conflicts is good enough",
        changes=(("        for slot in slots:\n", "        for slot in []:\n"),),
        loses=("chain-schedule", "any-schedule"),
    ),
    Planted(
        name="no-preamble",
        misconception="a frame is its bits",
        changes=(("return PREAMBLE_US + frame_bytes", "return frame_bytes"),),
        loses=("airtime",),
    ),
    Planted(
        name="two-sifs",
        misconception="an RTS is followed by two gaps",
        changes=(("return 3 * SIFS_US", "return 2 * SIFS_US"),),
        loses=("rts-nav",),
    ),
    Planted(
        name="same-nav",
        misconception="a CTS announces what the RTS announced",
        changes=(
            (
                "return 2 * SIFS_US + airtime_us(data_bytes, rate_bps) + airtime_us(ACK_BYTES, 1e6)",
                "return rts_nav_us(data_bytes, rate_bps)",
            ),
        ),
        loses=("cts-nav",),
    ),
)
