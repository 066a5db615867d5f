"""Schemes: which algorithm sits at which hook point.

A module per paper has its schemes with their hooks, needs and looks; `registry` joins them. An algorithm itself lives
in `pacelab_pacer.core` and is imported when a run needs it: the baseline and `--help` never do.

    gateway   between the wired and the air interface of every gateway
    sender    at every wireless host that is the source of a flow, calls not counted
    station   at every wireless host that is an end of a flow, both directions
    link      at every wireless node, before the interface queue, with the outcome of each transmission

A scheme states what it needs; what a topology or the traffic does not offer is refused with the reason. Nothing is
silently replaced: a hook point that a topology lacks but the scheme can do without is stated in the result.
"""

from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.registry import SCHEMES, find_scheme
from pacelab.schemes.scheme import POINTS, Attachment, HookFactory, Scheme

__all__ = ["POINTS", "SCHEMES", "Attachment", "HookFactory", "HookSettings", "Scheme", "find_scheme"]
