"""Back ends `tap` and `hwsim`: real Linux hosts over an emulated air.

    pacelab (you, or root)                          compiles the experiment to a Plan (pure data)
       |  a Plan, as JSON; progress and result back, as JSON lines
    supervisor (root, PID 1 of its own namespaces)  builds hosts, air and wires of the Plan, runs traffic, measures
       |- mediumd      the air: between a TAP device in each wireless host's network namespace,
       |               or between radios of mac80211_hwsim there (`network.radios`)
       |- wires        wired links, where the kernel has no netem
       |- agents       the scheme: the agents of `pacelab gateway`, `sender`, `relay` and `station`
       |- iperf3, datagrams    the traffic
    Wires, agents and datagrams are forked copies of the supervisor (`pacelab.emulation.processes`). The others are
    separate programs.

Invariants
1. Everything lives in the run's own PID, mount and network namespaces, under a supervisor that exits when the process
   that started it exits. Processes and interfaces disappear with the supervisor, however it ends, so nothing has to be
   cleaned up.
2. Only a Plan crosses from the user to root: numbers, and names from short lists. It contains no command and no path.
3. The supervisor reports in the engine's result format (medium/README.md).
"""
