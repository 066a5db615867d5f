"""The papers' algorithms on a real Linux host: packets from NFQUEUE to the core's hooks and back.

    packet, write       bytes to the core's Segment and back
    nfqueue, rules      packets from the kernel, and the firewall rules that bring them
    driver              runs one hook in real time
    agent               a driver as a process, with waiter, stop_signal, real_time and watchdog
    tc_agent            rates computed here, pacing in the kernel: air_tap sees packets, kernel_pacing sets classes
    link_layer          transmit results
    host, paths         what the host has and allows, and the rates of its paths
    status, diagnostics what an agent reports

Imports `pacelab_pacer.core` and nothing else of PaceLab. Names of schemes, command line and live view belong to
pacelab.
"""
