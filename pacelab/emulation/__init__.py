"""Back ends `tap` and `hwsim`: the same air between real Linux hosts.

    pacelab (you, or root)                          what the experiment is: compile -> Plan (pure data)
       |  a Plan, as JSON; progress and result back, as JSON lines
    supervisor (root, PID 1 of its own namespaces)  builds hosts, air and wires of the Plan, runs traffic, measures
       |- mediumd      the air: between a TAP device in each wireless host's network namespace,
       |               or between radios of mac80211_hwsim there (`network.radios`)
       |- wires        wired links, where the kernel has no netem
       |- agents       the scheme: as pacelab gateway, sender, relay, station have it
       |- iperf3, datagrams    the traffic
    Wires, agents and datagrams are copies of the supervisor (`pacelab.emulation.processes`), the others programs.

Invariants
1. Everything lives in a PID, a mount and network namespaces of the run's own, under a supervisor that dies when the
   process that started it does. Processes and interfaces die with it, however it ends: nothing has to be cleaned up.
2. Only a Plan crosses from the user to root: numbers and names from short lists, no command and no path.
3. The supervisor reports in the engine's result format (medium/README.md).
"""
