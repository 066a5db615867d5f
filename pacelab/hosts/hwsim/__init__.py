"""Back end `hwsim`: real hosts (`pacelab.hosts`) whose radios are mac80211_hwsim's.

Between the hosts' TCP/IP and the air is Linux's own Wi-Fi stack: mac80211 frames, its rate control, its counters
(`iw station dump`), nl80211. What the radios hear of each other mediumd decides, as the medium of the radios of the
run's own network namespace: neither the host's radios nor its medium are touched.

Invariants
1. Radios are made in the run's network namespace and live in the hosts': the kernel deletes them with these, however
   the run ends.
2. All radios are in one IBSS on one channel, with one fixed rate: the experiment's.
"""
