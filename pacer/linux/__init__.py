"""The papers' algorithms on a real Linux host: packets from NFQUEUE to the core's hooks and back.

    packet, rewrite, build     bytes <-> the core's Segment        voice_format   voice packets and their reports
    nfqueue, rules, inject     the kernel's side                   shell          one hook, in real time
    agent                      all of it as one process            tc_pacing      rates here, pacing in the kernel

Sees `pacelab.pacer.core` and nothing else of PaceLab: names of schemes, command line and live view are pacelab's.
"""
