"""Measures UDP over aggregates between two stations of mac80211_hwsim, with mediumd under the name wmediumd.

    sudo .venv/bin/python -m tests.uml.measure_aggregates [MBPS ...]                  on this kernel, in real time
    .venv/bin/python -m tests.uml.measure_aggregates [MBPS ...] --guest               in a guest, in virtual time
    .venv/bin/python -m tests.uml.measure_aggregates [MBPS ...] --guest --real-time   in a guest, in real time

The ad hoc stations are 5 m apart and send with MCS 15 at 40 MHz. The program prints a line of JSON for each rate that
is offered, and what mediumd says about its lateness. The module mac80211_hwsim must not be loaded before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from pacelab.emulation.programs import find_mediumd
from tests.uml import guest_script, modes_guest

SCENE = {"network": "ibss", "channel": "5180 HT40+", "rate": "ht-mcs-5 15", "seconds": 5}


def on_this_kernel(scenes: list[dict[str, Any]]) -> dict[str, Any]:
    """Run the scenes with radios of this kernel; needs root."""
    radios = ["modprobe", "mac80211_hwsim", "radios=2", f"regtest={guest_script.CUSTOM_WORLD}"]
    if subprocess.run(radios, check=False).returncode:
        raise SystemExit("this needs root and a kernel with the module mac80211_hwsim; --guest needs neither")
    try:
        with tempfile.TemporaryDirectory() as folder:
            settings = {"scenes": scenes, "medium": [str(find_mediumd()), "wmediumd"]}
            (Path(folder) / guest_script.SETTINGS).write_text(json.dumps(settings))
            return modes_guest.main(folder)
    finally:
        for station in (0, 1):
            subprocess.run(["ip", "netns", "delete", f"h{station}"], check=False)
        subprocess.run(["rmmod", "mac80211_hwsim"], check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("mbps", type=float, nargs="*", default=[50, 100, 200], help="rates that are offered")
    parser.add_argument("--guest", action="store_true", help="in the guest of --where uml, without root")
    parser.add_argument("--real-time", action="store_true", help="with --guest: the guest's clock is the computer's")
    options = parser.parse_args()
    if options.real_time and not options.guest:
        parser.error("--real-time: give --guest too; without it the clock is always the computer's")
    scenes = [{**SCENE, "udp_mbps": mbps} for mbps in options.mbps]
    if options.guest:
        found = guest_script.run_script(
            Path(modes_guest.__file__),
            2,
            settings={"scenes": scenes},
            kernel=guest_script.FREE_CHANNELS + (() if options.real_time else guest_script.VIRTUAL_TIME),
        )
    else:
        found = on_this_kernel(scenes)
    for mbps, scene in zip(options.mbps, found["scenes"], strict=True):
        print(json.dumps({"offered": mbps, **{name: value for name, value in scene.items() if name != "rates"}}))
    print(f"mediumd: {found['medium_cpu_s']:.1f} s of processor time", *found["log"], sep="\n")


if __name__ == "__main__":
    main()
