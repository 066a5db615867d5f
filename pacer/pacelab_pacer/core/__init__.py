"""The algorithms, sans-IO: time and events in, actions out. `contract` defines the interface.

contract, segment    what hooks see and do; null, the hook that does nothing; checks of configurations
pacing               queues, schedules, flow tables, base classes of hooks: what several papers use
tcp_gap, tcp_ap, link_red, ack_suppression, vagp, candidates, expect      a folder or a file per paper

A paper imports the first two rows. It imports another paper's folder only if its algorithm is built on that one; its
docstring says so.
"""
