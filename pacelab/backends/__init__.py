"""Back ends: where the air of an experiment is.

    sim   the engine in virtual time, in this process
    tap   the engine in real time (`mediumd`) between real Linux hosts in network namespaces
    hwsim the same between hosts with simulated radios and Linux's own Wi-Fi stack (mac80211_hwsim)

registry  the one place where `--backend` meets what runs
contract  what a back end is: it reports in the engine's result format (medium/README.md), so that all behind it -
          run.json, series, metrics, plots - never learns which one it was

What a back end cannot do (`hosts.limits`) is said before anything runs: an experiment's construction asks.
"""
