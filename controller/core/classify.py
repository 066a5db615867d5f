"""What a flow is: TCP, voice, or other.

Voice is told from other UDP by what is cheapest to know first:
1. its packets are marked as voice (DSCP EF, VOICE-ADMIT or CS6);
2. its first packets carry RTP headers that continue one another: same source, sequence number one up, a timestamp that
   goes forward, a payload type of audio (RFC 3550, RFC 3551). The first one makes it a candidate only. One from among
   those seen, which came again or was overtaken on its way to us, says nothing;
3. its counters are those of a codec: small packets at a steady pace, for some seconds.
What RTP headers have spoken against stays other until its counters say voice.
"""

from __future__ import annotations

from enum import StrEnum

from pacelab.controller.core.frames import TCP, UDP, VOICE_DSCPS, Frame, Rtp

PROBES = 4
"""Packets that a candidate shows before it is believed."""
MOST_LATE = 16
"""Packets from among those seen that a candidate may show: each is copied to us until it is decided."""
STEADY_COUNTS = 4
"""Readings in a row, one a second."""
CODEC_PACKETS_PER_S = (15.0, 110.0)
"""10 ms to 60 ms of speech a packet."""
LARGEST_FRAME_BYTES = 320
"""20 ms of G.711, the largest of the usual codecs, are 214 bytes with all headers."""
AUDIO = frozenset({0, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 18, *range(96, 128)})
"""RTP payload types of audio, and the dynamic ones (RFC 3551 Sec. 6)."""
LARGEST_AUDIO_BYTES = 480


class FlowClass(StrEnum):
    """What a flow is taken for."""

    TCP = "tcp"
    VOICE = "voice"
    OTHER = "other"


class Classifier:
    """One flow's."""

    def __init__(self, first: Frame | None = None, *, known: FlowClass | None = None) -> None:
        """From its first packet, or with what is known already."""
        self.found = FlowClass.OTHER
        self.reason = "first packet"
        self._first: Rtp | None = None
        self._last: Rtp | None = None
        self._seen = 0
        self._late = 0
        self._steady = 0
        self._protocol = first.flow.protocol if first is not None and first.flow is not None else 0
        if known is not None:
            self.found, self.reason = known, "as found"
        elif self._protocol == TCP:
            self.found = FlowClass.TCP
        elif first is not None and self._protocol == UDP:
            self.probe(first)

    @property
    def wants_probes(self) -> bool:
        """Whether the next packets decide: a candidate."""
        return self._last is not None and self._seen < PROBES and self.found is FlowClass.OTHER

    def probe(self, frame: Frame) -> bool:
        """Look at a packet; whether the class has changed."""
        before = self.found
        if frame.dscp in VOICE_DSCPS:
            self.found, self.reason, self._last = FlowClass.VOICE, f"marked, DSCP {frame.dscp}", None
        elif self.found is FlowClass.OTHER and self._seen < PROBES and not self._is_late(frame.rtp):
            self._last = frame.rtp if frame.rtp is not None and self._goes_on(frame.rtp) else None
            self._first = self._first or self._last
            self._seen = self._seen + 1 if self._last is not None else PROBES
            if self._last is not None and self._seen == PROBES:
                self.found, self.reason = FlowClass.VOICE, f"RTP, payload type {self._last.payload_type}"
        return self.found is not before

    def count(self, packets: int, size_bytes: int, seconds: float) -> bool:
        """Take a reading of its counters; whether the class has changed. Only UDP becomes voice by it."""
        if self.found is not FlowClass.OTHER or seconds <= 0 or self._protocol not in (0, UDP):
            return False
        low, high = CODEC_PACKETS_PER_S
        steady = low <= packets / seconds <= high and size_bytes <= packets * LARGEST_FRAME_BYTES
        self._steady = self._steady + 1 if steady else 0
        if self._steady < STEADY_COUNTS:
            return False
        self.found, self.reason = FlowClass.VOICE, f"small packets at a steady pace for {STEADY_COUNTS} s"
        return True

    def follow(self, reason: str) -> bool:
        """The other direction is voice; whether the class has changed."""
        if self.found is not FlowClass.OTHER:
            return False
        self.found, self.reason, self._last = FlowClass.VOICE, reason, None
        return True

    def _is_late(self, rtp: Rtp | None) -> bool:
        if rtp is None or self._first is None or self._last is None or rtp.source != self._last.source:
            return False
        span = (self._last.sequence - self._first.sequence) % 65_536
        late = self._late < MOST_LATE and (rtp.sequence - self._first.sequence) % 65_536 <= span
        self._late += late
        return late

    def _goes_on(self, rtp: Rtp) -> bool:
        if rtp.payload_type not in AUDIO or not 0 < rtp.payload_bytes <= LARGEST_AUDIO_BYTES:
            return False
        last = self._last
        if last is None:
            return self._seen == 0
        step = (rtp.sequence - last.sequence) % 65_536
        later = (rtp.timestamp - last.timestamp) % (1 << 32)
        # One up; up to two lost between; the clock of audio runs at 8 to 48 kHz.
        return rtp.source == last.source and 1 <= step <= 3 and 0 < later < 48_000
