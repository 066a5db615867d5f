"""Link RED and adaptive pacing in the link layer, `pacer.core.link_red`: Fu et al. 2005."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pacelab.schemes.hook_settings import HookSettings
from pacelab.schemes.scheme import Scheme
from pacelab.schemes.style import Style

if TYPE_CHECKING:
    from pacelab_pacer.core.contract import Hook
    from pacelab_pacer.core.link_red.link_pacing import ExtraBackoff


def link_red(settings: HookSettings) -> Hook:
    """Link RED with drops."""
    from pacelab_pacer.core.link_red.link_red import LinkRed, LinkRedConfig

    return LinkRed(LinkRedConfig(), settings.stream("lred").random)


def link_red_marking(settings: HookSettings) -> Hook:
    """Link RED with ECN marks."""
    from pacelab_pacer.core.link_red.link_red import MARKING, LinkRed

    return LinkRed(MARKING, settings.stream("lred").random)


def link_pacing(settings: HookSettings) -> Hook:
    """Adaptive pacing in the link layer, always active."""
    from pacelab_pacer.core.link_red.link_pacing import LinkPacing

    return LinkPacing(extra_backoff(settings))


def link_red_pacing(settings: HookSettings) -> Hook:
    """Link RED with drops, and adaptive pacing above its threshold."""
    from pacelab_pacer.core.link_red.link_red import LinkRed, LinkRedConfig

    return LinkRed(LinkRedConfig(), settings.stream("lred").random, extra_backoff(settings))


def link_red_marking_pacing(settings: HookSettings) -> Hook:
    """Link RED with ECN marks, and adaptive pacing above its threshold."""
    from pacelab_pacer.core.link_red.link_red import PACED_MARKING, LinkRed

    return LinkRed(PACED_MARKING, settings.stream("lred").random, extra_backoff(settings))


def extra_backoff(settings: HookSettings) -> ExtraBackoff:
    """Adaptive pacing of one node, with the PHY's timing and the clock of --extra-backoff."""
    from pacelab_pacer.core.link_red.link_pacing import ExtraBackoff
    from pacelab_pacer.core.link_red.link_timing import TIMINGS

    timing = replace(TIMINGS[settings.phy], rts=settings.rts)
    return ExtraBackoff(timing, wall_clock=settings.extra_backoff == "wall-clock")


SCHEMES = (
    Scheme(
        name="lred",
        summary="Link RED: each node drops packets early, by its average number of retransmissions",
        source="[fu] Sec. 6.1",
        style=Style("#009e73", "p", "-"),
        link=link_red,
        needs_only_retry_counts=True,
        effect_counters=frozenset({"dropped"}),
    ),
    Scheme(
        name="lred-ecn",
        summary="Link RED that marks instead of dropping; TCP with ECN",
        source="[fu] Sec. 6.1",
        style=Style("#e69f00", "h", ":"),
        link=link_red_marking,
        needs_only_retry_counts=True,
        ecn=True,
        effect_counters=frozenset({"dropped", "marked"}),
    ),
    Scheme(
        name="link-pacing",
        summary="adaptive pacing alone: after a frame, a node waits as long as the next node needs to forward it",
        source="[fu] Sec. 6.2",
        style=Style("#cc79a7", "d", "-"),
        link=link_pacing,
        options=("extra_backoff",),
        by_path=True,
        effect_counters=frozenset({"paced"}),
    ),
    Scheme(
        name="lred+pacing",
        summary="Link RED, and adaptive pacing where the average of retransmissions is above its threshold",
        source="[fu] Sec. 6",
        style=Style("#117733", "$M$", "-."),
        link=link_red_pacing,
        options=("extra_backoff",),
        by_path=True,
        effect_counters=frozenset({"dropped", "paced"}),
    ),
    Scheme(
        name="lred-ecn+pacing",
        summary="Link RED that marks, TCP with ECN, and adaptive pacing above the same threshold",
        source="[fu] Sec. 6, Algorithms 1 and 2",
        style=Style("#b82820", "*", "--"),
        link=link_red_marking_pacing,
        options=("extra_backoff",),
        by_path=True,
        ecn=True,
        effect_counters=frozenset({"dropped", "marked", "paced"}),
    ),
)
