"""BonnMotion's own format: a line for each node, "time x y" again and again, s and m, straight lines in between.

Source: BonnMotion's documentation, "Native format".
Deviates: two dimensions only.
"""

from __future__ import annotations

from pacelab.topologies.mobility import Area, Place, Walk, check_node, number, simplified


def read_bonnmotion(text: str, area: Area, starts: tuple[Place, ...]) -> tuple[Walk, ...]:
    """A walk for each node; nodes beyond the trace's last line stay where `starts` has them."""
    walks: list[Walk] = []
    for line, said in enumerate(text.splitlines(), start=1):
        if not said.strip() or said.startswith("#"):
            continue
        check_node(line, len(walks), len(starts))
        words = said.split()
        if len(words) % 3:
            raise ValueError(f"line {line}: {len(words)} numbers; allowed is time, x and y again and again: threes")
        points: list[tuple[float, Place]] = []
        for at, x, y in zip(words[::3], words[1::3], words[2::3], strict=True):
            at_s, place = number(line, at), area.check(line, number(line, x), number(line, y))
            before_s, before = points[-1] if points else (0.0, place)
            if at_s < before_s or at_s < 0:
                raise ValueError(f"line {line}: {at_s:g} s after {before_s:g} s; allowed are times that rise")
            if points and at_s == before_s:
                if place != before:
                    raise ValueError(f"line {line}: two places at {at_s:g} s; allowed is a walk, no jump")
                continue
            points.append((at_s, place))
        walks.append(Walk(points[0][1], simplified(points, points[0][1])))
    return tuple(walks) + tuple(Walk(start, ()) for start in starts[len(walks) :])
