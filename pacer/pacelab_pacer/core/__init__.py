"""The algorithms, sans-IO: time and events in, actions out. See `contract` for the one door.

contract, segment    what hooks see and do; null, the hook that does nothing; checks of configurations
pacing               queues, schedules, flow tables, bases of hooks: what several papers use
tcp_gap, tcp_ap, link_red, ack_suppression, vagp, candidates, expect      a folder or a file per paper

A paper sees the first two rows and, only where its algorithm is built on another's, that one's folder; its docstring
says so.
"""
