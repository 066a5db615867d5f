"""Assignment 1: who interferes with whom. The model solution."""

from math import dist

PACELAB_ASSIGNMENT = "1/1"

DECODE_M, SENSE_M = 250.0, 550.0
CAPTURE_DB = 10.0
PREAMBLE_US, SIFS_US = 192, 10
CTS_BYTES, ACK_BYTES = 14, 14


def decodes(a, b):
    """Up to 250 m."""
    return dist(a, b) <= DECODE_M


def senses(a, b):
    """Up to 550 m."""
    return dist(a, b) <= SENSE_M


def captured(sender_m, other_m):
    """Power falls with the fourth power."""
    return (other_m / sender_m) ** 4 >= 10 ** (CAPTURE_DB / 10)


def relation(first, second):
    """First the senders, then the receivers."""
    (sender, receiver), (other_sender, other_receiver) = first, second
    if senses(sender, other_sender):
        return "share"
    if senses(sender, other_receiver) or senses(other_sender, receiver):
        return "hidden"
    return "independent"


def schedule(links):
    """First fit."""
    slots = []
    for number, link in enumerate(links):
        for slot in slots:
            if all(relation(link, links[other]) == "independent" for other in slot):
                slot.append(number)
                break
        else:
            slots.append([number])
    return slots


def airtime_us(frame_bytes, rate_bps):
    """Preamble and bits."""
    return PREAMBLE_US + frame_bytes * 8e6 / rate_bps


def rts_nav_us(data_bytes, rate_bps):
    """CTS, data and ACK with their SIFS."""
    return 3 * SIFS_US + airtime_us(CTS_BYTES, 1e6) + airtime_us(data_bytes, rate_bps) + airtime_us(ACK_BYTES, 1e6)


def cts_nav_us(data_bytes, rate_bps):
    """Without the CTS and its SIFS."""
    return 2 * SIFS_US + airtime_us(data_bytes, rate_bps) + airtime_us(ACK_BYTES, 1e6)
