"""Walks drawn by seed: random waypoint and Gauss-Markov. Each node has a stream of its own.

Positions are rounded to millimetres, and each leg begins at the rounded one, so that the last bit of a machine's cosine
reaches no result.

Source: [camp] T. Camp, J. Boleng, V. Davies, "A survey of mobility models for ad hoc network research", WCMC 2(5),
2002, Sec. 2.2 and 2.5
"""

from __future__ import annotations

import math
from random import Random
from statistics import NormalDist

from pacelab.topologies.mobility import Area, Place, Walk, distance_m, simplified

EDGE = 0.1
"""Gauss-Markov: nearer to an edge than this share of the area a node's mean direction is to the middle."""
DIRECTION_SD = math.pi / 4
"""Gauss-Markov: standard deviation of the direction. [camp] gives none."""
SPEED_SD = 0.25
"""Gauss-Markov: of the speed, as a share of its mean. [camp] gives none."""


def random_waypoint(
    area: Area, starts: tuple[Place, ...], *, slowest: float, fastest: float, pause_s: float, until_s: float, seed: int
) -> tuple[Walk, ...]:
    """Each node walks to a place drawn at random at a speed drawn between the two (m/s, above 0), pauses, walks on.

    Deviates: a node starts where the network has it, so the first minutes are not the stationary state. Speeds above 0
    keep the mean from falling for ever.
    """
    walks = []
    for node, start in enumerate(starts):
        random = Random(f"random-waypoint {seed} {node}")  # only its random(), whose sequence Python guarantees
        now_s, here = 0.0, start
        points: list[tuple[float, Place]] = []
        while now_s < until_s:
            goal = _mm(random.random() * area.width_m, random.random() * area.height_m)
            speed = slowest + random.random() * (fastest - slowest)
            length = distance_m(here, goal)
            if length == 0:
                continue
            now_s, here = now_s + length / speed, goal
            points.append((now_s, here))
            if pause_s > 0:
                now_s += pause_s
                points.append((now_s, here))
        walks.append(Walk(start, simplified(points, start)))
    return tuple(walks)


def gauss_markov(
    area: Area, starts: tuple[Place, ...], *, speed: float, memory: float, step_s: float, until_s: float, seed: int
) -> tuple[Walk, ...]:
    """Speed and direction are `memory` (0..1) of what they were `step_s` before, the rest of their means and chance.

        s_n = a s + (1 - a) s_mean + sqrt(1 - a^2) s_x          and so the direction

    Near an edge the mean direction is to the middle; who would step out of the area stays at its edge.
    """
    walks = []
    normal, chance = NormalDist(), math.sqrt(1 - memory * memory)
    for node, start in enumerate(starts):
        random = Random(f"gauss-markov {seed} {node}")
        now_s, here = 0.0, start
        pace, direction = speed, 2 * math.pi * random.random()
        middle = direction
        points: list[tuple[float, Place]] = []
        while now_s < until_s:
            if _near_edge(here, area):
                middle = math.atan2(area.height_m / 2 - here[1], area.width_m / 2 - here[0])
                middle += 2 * math.pi * round((direction - middle) / (2 * math.pi))  # the short way round
            draws = [normal.inv_cdf((int(random.random() * 2**52) + 0.5) / 2**52) for _ in range(2)]
            pace = memory * pace + (1 - memory) * speed + chance * SPEED_SD * speed * draws[0]
            direction = memory * direction + (1 - memory) * middle + chance * DIRECTION_SD * draws[1]
            length = max(pace, 0.0) * step_s
            x = min(max(here[0] + length * math.cos(direction), 0.0), area.width_m)
            y = min(max(here[1] + length * math.sin(direction), 0.0), area.height_m)
            now_s, here = now_s + step_s, _mm(x, y)
            points.append((now_s, here))
        walks.append(Walk(start, simplified(points, start)))
    return tuple(walks)


def _near_edge(here: Place, area: Area) -> bool:
    sides = ((here[0], area.width_m), (here[1], area.height_m))
    return any(not EDGE * length <= at <= (1 - EDGE) * length for at, length in sides)


def _mm(x: float, y: float) -> Place:
    return round(x, 3), round(y, 3)
