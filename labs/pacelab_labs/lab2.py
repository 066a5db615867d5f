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
                source="Fu et al., figure 1: A sends to B while E sends to F",
                mistakes={
                    3: "that counts the hops 0, 4 and 8, but the eight hops have the numbers 0 to 7.",
                    8: "hops that are fewer than four hops apart interfere with each other.",
                },
            ),
            Case(
                arguments={"hops": 5, "every": 4},
                expected=2,
                source="five hops have room for two senders, A and E",
                mistakes={
                    1: "5 // 4 rounds down, but the fifth hop can also send.",
                    1.25: "the result must be a whole number of hops.",
                },
            ),
            Case(
                arguments={"hops": 4, "every": 4},
                expected=1,
                source="a second sender needs a fifth hop",
            ),
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
                    3: "that is the window of the highest goodput; a smaller window is within 1 % of it.",
                    248: "that is the goodput; return its window.",
                },
            ),
            Case(
                arguments={"goodput_kbps": {1: 150.0, 2: 240.0, 3: 248.0, 4: 243.0, 5: 250.0, 6: 249.0}},
                expected=3,
                source="99 % of 250 is 247.5, and of windows 3, 5 and 6 the smallest is 3",
                mistakes={
                    2: "that goodput (240) is 4 % below the best (250); it must be within 1 % of the best.",
                    5: "that is the window of the highest goodput (250); window 3 is within 1 % of 250.",
                },
            ),
            Case(
                arguments={"goodput_kbps": {8: 100.0, 4: 100.0, 16: 100.0}},
                expected=4,
                source="all goodputs are equal",
            ),
            Case(arguments={"goodput_kbps": {1: 100.0}}, expected=1, source="there is only one window"),
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
                    0.00390625: "that is the probability of eight failures; the first attempt is one of the seven.",
                    3.5: "multiply the probabilities of independent events; do not add them.",
                    0.9921875: "that is the probability that the packet gets through.",
                },
            ),
            Case(arguments={"failure": 0.0, "attempts": 7}, expected=0.0, source="nothing ever fails"),
            Case(arguments={"failure": 0.9, "attempts": 1}, expected=0.9, source="a single attempt"),
        ),
    ),
}
