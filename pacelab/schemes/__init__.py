"""Schemes: the algorithms and their hook points.

Each paper has a module with its schemes: their hooks, requirements and line styles. `registry` joins them. The
algorithms are in `pacelab_pacer.core` and are imported only when a run needs them.

    gateway   between the wired and the air interface of every gateway
    sender    at every wireless host that is the source of a flow, calls not counted
    station   at every wireless host that is an end of a flow, both directions
    link      at every wireless node, before the interface queue, with the outcome of each transmission

A scheme states its requirements. A topology or traffic that does not meet them is refused with the reason. If a scheme
runs without one of its hook points, because the topology does not have it, the result says so.
"""

from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.registry import SCHEMES, find_scheme
from pacelab.schemes.scheme import POINTS, Attachment, HookFactory, Scheme

__all__ = ["POINTS", "SCHEMES", "Attachment", "HookFactory", "HookSettings", "Scheme", "find_scheme"]
