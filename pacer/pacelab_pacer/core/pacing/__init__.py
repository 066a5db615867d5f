"""The parts that pacers share: base classes of hooks, queues and schedules, and what a pacer learns from TCP headers.

hooks        pacing_hook (flows at their pace), gateway_hook (connections through a gateway, and copies of their data)
queues       paced_flow (a flow's schedule, queue and soft state; the table of flows), packet_store (how much may
             wait), wake_heap (which flow is next: each by its own schedule), rate_shaper (which flow is next: one rate
             for all)
TCP          outstanding (data that is not acknowledged), teardown (the end of a connection), window_edge (the window
             that a gateway lets a sender see)

Nothing of a single paper belongs here, only what two of them use. This package imports the contract and segments.
"""
