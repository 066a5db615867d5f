"""The papers' algorithms on a real Linux host: packets from NFQUEUE to the core's hooks and back.

    packet, write      bytes <-> the core's Segment     voice_format   voice packets and their reports
    nfqueue, rules     packets come from the kernel     shell          one hook, in real time
    agent              all of it as one process         tc_agent       rates here, pacing in the kernel
    link_layer         what became of frames            air_tap, kernel_pacing   the kernel's part in that
    host, process      what the host has and allows     status, doubts           what an agent says

Sees `pacelab_pacer.core` and nothing else of PaceLab: names of schemes, command line and live view are pacelab's.
"""
