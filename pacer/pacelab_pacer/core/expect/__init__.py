"""PaceLab's own scheme: TCP-GAP's pacing behind ACKs that wait only for a segment that is due.

Source: pacelab, after [tcp-gap] and [lee] Sec. 6. Built on `tcp_gap`; its deadlines are `pacing`'s.
"""
