"""Planted mistakes of assignment 4."""

from __future__ import annotations

from pacelab_grading.rubric.assignment import PlantedMistake

WRONG = (
    PlantedMistake(
        name="attempts-for-retries",
        misconception="the first attempt is a retransmission",
        changes=(("retries = max(0, attempts - 1)", "retries = attempts"),),
        loses=("average",),
    ),
    PlantedMistake(
        name="weights-swapped",
        misconception="the newest packet weighs 7/8",
        changes=(
            (
                "(1 - NEW_WEIGHT) * self.value + NEW_WEIGHT * retries",
                "NEW_WEIGHT * self.value + (1 - NEW_WEIGHT) * retries",
            ),
        ),
        loses=("average",),
    ),
    PlantedMistake(
        name="no-cap",
        misconception="max_probability is reached at max_retries by itself",
        changes=(
            (
                "return min((average - min_retries) / (max_retries - min_retries), max_probability)",
                "return (average - min_retries) / (max_retries - min_retries)",
            ),
        ),
        loses=("probability",),
    ),
    PlantedMistake(
        name="line-from-zero",
        misconception="the line starts at an average of 0",
        changes=(("(average - min_retries) / (max_retries - min_retries)", "average / max_retries"),),
        loses=("probability",),
    ),
    PlantedMistake(
        name="draws-always",
        misconception="an unnecessary random number is harmless",
        changes=(("if probability > 0 and self._uniform() < probability:", "if self._uniform() < probability:"),),
        loses=("idle", "draws"),
    ),
    PlantedMistake(
        name="broadcasts-count",
        misconception="a broadcast is a frame without retransmissions",
        changes=(("if event.next_hop is not None:", "if True:"),),
        loses=("broadcasts",),
    ),
    PlantedMistake(
        name="acks-spared",
        misconception="only data is dropped",
        changes=(
            (
                "if probability > 0 and self._uniform()",
                "if probability > 0 and event.segment.is_data and self._uniform()",
            ),
        ),
        loses=("alike",),
    ),
    PlantedMistake(
        name="delivered-only",
        misconception="a dropped frame has no retransmissions",
        changes=(("if event.next_hop is not None:", "if event.next_hop is not None and event.delivered:"),),
        loses=("learns",),
    ),
    PlantedMistake(
        name="never-drops",
        misconception="the average has no effect on drops",
        changes=(("self._uniform() < probability:", "self._uniform() < 0:"),),
        loses=("draws", "learns", "broadcasts", "alike", "delay", "losses"),
    ),
    PlantedMistake(
        name="drops-all",
        misconception="dropping all packets avoids contention",
        changes=(("self._uniform() < probability:", "True:"), ("if probability > 0 and", "if probability >= 0 and")),
        loses=("idle", "draws", "learns", "alike", "delay", "losses"),
    ),
    PlantedMistake(
        name="average-of-all-nodes",
        misconception="class attributes belong to each hook",
        changes=(
            ("        self._average = RetryAverage()\n", ""),
            (
                "    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT\n",
                "    event_mask = EventMask.SEGMENT | EventMask.TRANSMIT\n    _average = RetryAverage()\n",
            ),
        ),
        loses=("learns",),
    ),
    PlantedMistake(
        name="one-neighbour",
        misconception="only frames to the first neighbour count",
        changes=(
            (
                "self._average.update(event.attempts)",
                "event.next_hop == 1 and self._average.update(event.attempts)",
            ),
        ),
        loses=("learns",),
    ),
    PlantedMistake(
        name="zero-is-nobody",
        misconception="a value that is not None is true",
        changes=(("if event.next_hop is not None:", "if event.next_hop:"),),
        loses=("learns",),
    ),
)
