"""Planted mistakes of assignment 1."""

from __future__ import annotations

from pacelab_grading.rubric.assignment import PlantedMistake

WRONG = (
    PlantedMistake(
        name="along-the-line",
        misconception="only the x coordinate counts",
        changes=(
            ("return dist(a, b) <= DECODE_M", "return abs(a[0] - b[0]) <= DECODE_M"),
            ("return dist(a, b) <= SENSE_M", "return abs(a[0] - b[0]) <= SENSE_M"),
        ),
        loses=("ranges",),
    ),
    PlantedMistake(
        name="edge-excluded",
        misconception="up to 550 m does not include 550 m",
        changes=(("return dist(a, b) <= SENSE_M", "return dist(a, b) < SENSE_M"),),
        loses=("ranges",),
    ),
    PlantedMistake(
        name="free-space",
        misconception="power falls with the square of the distance",
        changes=(("** 4 >= 10", "** 2 >= 10"),),
        loses=("capture",),
    ),
    PlantedMistake(
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
    PlantedMistake(
        name="one-receiver",
        misconception="only the first link's receiver can be interfered with",
        changes=(
            (
                "if senses(sender, other_receiver) or senses(other_sender, receiver):",
                "if senses(sender, other_receiver):",
            ),
        ),
        loses=("hiding", "predictions"),
    ),
    PlantedMistake(
        name="receivers-too",
        misconception="receivers that sense each other interfere",
        changes=(
            (
                "or senses(other_sender, receiver):",
                "or senses(other_sender, receiver) or senses(receiver, other_receiver):",
            ),
        ),
        loses=("independence",),
    ),
    PlantedMistake(
        name="hidden-first",
        misconception="a sender that is sensed at the other's receiver is hidden, even if the senders sense each other",
        changes=(
            (
                '    if senses(sender, other_sender):\n        return "share"\n'
                '    if senses(sender, other_receiver) or senses(other_sender, receiver):\n        return "hidden"\n',
                '    if senses(sender, other_receiver) or senses(other_sender, receiver):\n        return "hidden"\n'
                '    if senses(sender, other_sender):\n        return "share"\n',
            ),
        ),
        loses=("sharing",),
    ),
    PlantedMistake(
        name="neither-unsaid",
        misconception="a function without a return statement returns the remaining case",
        changes=(('    return "independent"\n', ""),),
        loses=("independence", "predictions"),
    ),
    PlantedMistake(
        name="one-slot-each",
        misconception="a schedule without conflicts is good enough",
        changes=(("        for slot in slots:\n", "        for slot in []:\n"),),
        loses=("chain-schedule", "any-schedule"),
    ),
    PlantedMistake(
        name="no-preamble",
        misconception="a frame consists of its bits only",
        changes=(("return PREAMBLE_US + frame_bytes", "return frame_bytes"),),
        loses=("airtime",),
    ),
    PlantedMistake(
        name="two-sifs",
        misconception="an RTS is followed by two gaps",
        changes=(("return 3 * SIFS_US", "return 2 * SIFS_US"),),
        loses=("rts-nav",),
    ),
    PlantedMistake(
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
    PlantedMistake(
        name="fills-on",
        misconception="a default list is a new list at each call",
        changes=(
            ("def schedule(links):", "def schedule(links, slots=[]):"),
            ("    slots = []\n", ""),
        ),
        loses=("chain-schedule", "any-schedule"),
    ),
    PlantedMistake(
        name="there-is-a-link",
        misconception="there is always a first link, for the first slot",
        changes=(
            (
                "    slots = []\n    for number, link in enumerate(links):",
                "    slots = [[0]]\n    for number, link in list(enumerate(links))[1:]:",
            ),
        ),
        loses=("any-schedule",),
    ),
    PlantedMistake(
        name="whole-metres",
        misconception="550.4 m are 550 m",
        changes=(("    return dist(a, b) <= SENSE_M", "    return int(dist(a, b)) <= SENSE_M"),),
        loses=("ranges",),
    ),
    PlantedMistake(
        name="whole-megabits",
        misconception="rates are whole numbers of Mbit/s",
        changes=(("frame_bytes * 8e6 / rate_bps", "frame_bytes * 8 / (int(rate_bps) // 1_000_000)"),),
        loses=("airtime",),
    ),
    PlantedMistake(
        name="all-share",
        misconception="all senders wait for each other",
        changes=(("    if senses(sender, other_sender):", "    if True:"),),
        loses=("sharing", "hiding", "independence", "predictions"),
    ),
)
