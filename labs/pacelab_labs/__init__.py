"""The parts of the guided labs besides runs and figures: interactive figures, predictions, self-checks, back ends.

    lab.back_ends()                     the back ends of this host, and how to get the others
    lab.explore(draw, hops=lab.slide()) a figure with controls
    lab.predict(question, {...})        a question to answer before the run that answers it
    lab.progress(items)                 the items of a loop, with a line that shows how much is done
    lab.check("lab4.pacer", function)     tries a student's function and explains what is wrong
    lab.hint("lab4.pacer")                the next hint on an exercise, then its solution
    lab.on_real_hosts("lab1.hidden")    the same experiment on a real back end, or a recorded result

Everything also works without a browser: each figure is then drawn once, at the controls' starting values.
ipywidgets is imported when a control is first shown (`make notebooks` installs it).
"""

from __future__ import annotations

from pacelab_labs.air import air, fates, link_ranges, link_roles, network_map, pairs_picture
from pacelab_labs.capstone import enter, leaderboard, networks, score
from pacelab_labs.check import check, for_credit, hint
from pacelab_labs.earlier import pacer_of_lab4
from pacelab_labs.errors import CheckFailed, Todo
from pacelab_labs.figures import bars, call_picture, call_series, comparison, curves, flow_bars, series
from pacelab_labs.interactive import Exploration, Prediction, choice, explore, predict, slide, switch
from pacelab_labs.picture import Picture, Table, picture, table
from pacelab_labs.progress import progress
from pacelab_labs.recorded import back_ends, expected_results, on_real_hosts, record, stock_wmediumd

__all__ = [
    "CheckFailed",
    "Exploration",
    "Picture",
    "Prediction",
    "Table",
    "Todo",
    "air",
    "back_ends",
    "bars",
    "call_picture",
    "call_series",
    "check",
    "choice",
    "comparison",
    "curves",
    "enter",
    "expected_results",
    "explore",
    "fates",
    "flow_bars",
    "for_credit",
    "hint",
    "leaderboard",
    "link_ranges",
    "link_roles",
    "network_map",
    "networks",
    "on_real_hosts",
    "pacer_of_lab4",
    "pairs_picture",
    "picture",
    "predict",
    "progress",
    "record",
    "score",
    "series",
    "slide",
    "stock_wmediumd",
    "switch",
    "table",
]
