"""The exercises of lab 2: how many hops can be busy, which window is the best, how often a packet is given up."""

from __future__ import annotations

from pacelab_labs.exercise import Case, Exercise

LAB2 = {
    "lab2.busy_at_once": Exercise(
        asks="the largest number of hops that can send at once",
        cases=(
            Case(
                arguments={"hops": 8, "every": 4},
                expected=2,
                source="Fu et al., figure 1: A→B with E→F, and three more such pairs",
                mistakes={
                    3: "hops 0, 4 and 8: but eight hops are numbered 0 to 7.",
                    8: "hops closer than four to each other disturb each other.",
                },
            ),
            Case(
                arguments={"hops": 5, "every": 4},
                expected=2,
                source="A→B and E→F fit into five hops",
                mistakes={
                    1: "5 // 4 rounds down, but the hops left over are enough for one more sender.",
                    1.25: "hops are whole.",
                },
            ),
            Case(arguments={"hops": 4, "every": 4}, expected=1, source="the fifth hop would be the next one"),
            Case(arguments={"hops": 1, "every": 4}, expected=1, source="one hop, one sender"),
        ),
    ),
    "lab2.best_window": Exercise(
        asks="the smallest window whose goodput is within 1 % of the best",
        cases=(
            Case(
                arguments={"goodput_kbps": {1: 178.0, 2: 246.0, 3: 248.0, 4: 245.0, 8: 241.0}},
                expected=2,
                source="99 % of 248 is 245.5, and window 2 has 246",
                mistakes={
                    3: "that is the window of the very best goodput; 246 and 248 differ by less than seeds do.",
                    248: "that is a goodput; the window is asked for.",
                },
            ),
            Case(
                arguments={"goodput_kbps": {1: 150.0, 2: 240.0, 3: 248.0, 4: 243.0, 5: 250.0, 6: 249.0}},
                expected=3,
                source="99 % of 250 is 247.5, and of windows 3, 5 and 6 the smallest is 3",
                mistakes={
                    2: "240 is 4 % less than 250; within 1 % is asked for.",
                    5: "that is the best one; 248, of a smaller window, is within 1 % of it.",
                },
            ),
            Case(arguments={"goodput_kbps": {8: 100.0, 4: 100.0, 16: 100.0}}, expected=4, source="all are equal"),
            Case(arguments={"goodput_kbps": {1: 100.0}}, expected=1, source="there is only one"),
        ),
    ),
    "lab2.given_up": Exercise(
        asks="the probability that a packet is given up",
        cases=(
            Case(
                arguments={"failure": 0.5, "attempts": 7},
                expected=0.0078125,
                source="seven failures in a row, one half each: 1/128",
                mistakes={
                    0.00390625: "that is eight failures; the first attempt is one of the seven.",
                    3.5: "probabilities of independent events multiply.",
                    0.9921875: "that is the probability that it arrives.",
                },
            ),
            Case(arguments={"failure": 0.0, "attempts": 7}, expected=0.0, source="nothing ever fails"),
            Case(arguments={"failure": 0.9, "attempts": 1}, expected=0.9, source="a single attempt"),
        ),
    ),
}
