"""The page that a controller serves (controller/web): the demonstrations' component with the controller's own network.

The controller finds this module through an entry point. The page calls the controller's REST interface with the token
of its link.
"""

from __future__ import annotations

from pacelab.demo.page import bundle, data_page
from pacelab.documents import JsonObject

MODULES = ("network.js", "start_network.js")


def network_page(picture: JsonObject) -> str:
    """The page. `picture` has the nodes with their positions, the wires, and the nodes that walk.

    If `picture` is empty, the page draws what the controller finds.
    """
    nodes = picture.get("nodes", [])
    demo = {
        "name": "network",
        "title": "The network",
        "question": "Where is each station, which flows are there, and what does each gateway do about them?",
        "answer": [
            "The width of an arrow shows the rate of its flow.",
            "A station that walks is drawn beside the gateway at which the controller sees it. After a handover, the "
            "station and the paths of its flows are drawn at the other gateway.",
            "Let a gateway run another scheme: rates and round trips change within seconds.",
        ],
        "labels": [node["name"] for node in nodes],
        "controls": [],
        "python": True,
        "live": True,
        "wired": True,
        "gateway": None,
        "full_bps": None,
        "air": {"seed": 0, "nodes": [{"wireless": n["wireless"], "position_m": n["position_m"]} for n in nodes]},
    }
    return data_page("PaceLab: the network", {"demo": demo, "picture": picture}, bundle(*MODULES))
