"""The page that the controller serves (`pacelab_controller.web`): the demonstrations' component on its network.

The controller reaches it through an entry point; the page reaches the controller by REST, with the token of its link.
"""

from __future__ import annotations

from typing import Any

from pacelab.demo.page import bundle, data_page

MODULE = "network.js"
START = """
const page = JSON.parse(document.getElementById("demo").textContent);
const shown = document.createElement("pacelab-demo");
document.querySelector("main").replaceChildren(shown);
shown.start(page.demo, nothingYet());
window.network = new NetworkPage(shown, page.picture);
"""


def network_page(picture: dict[str, Any]) -> str:
    """The page; `picture`: nodes with their places, wires, who walks. Empty: it draws what the controller finds."""
    nodes = picture.get("nodes", [])
    demo = {
        "name": "network",
        "title": "The network",
        "question": "Who is where, what flows, and what does each gateway do about it?",
        "answer": "Arrows are as wide as what they carry. A station that walks is drawn beside the gateway where the "
        "controller sees it: after a handover it is at the other one, and its flows' ways with it. Let a "
        "gateway run another scheme: rates and round trips follow within seconds.",
        "labels": [node["name"] for node in nodes],
        "controls": [],
        "python": True,
        "live": True,
        "wired": True,
        "gateway": None,
        "full_bps": None,
        "air": {"seed": 0, "nodes": [{"wireless": n["wireless"], "position_m": n["position_m"]} for n in nodes]},
    }
    return data_page("PaceLab: the network", {"demo": demo, "picture": picture}, f"{bundle(MODULE)}\n{START}")
