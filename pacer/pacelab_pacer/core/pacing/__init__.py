"""What pacers are built of: hooks' common bases, queues, schedules, soft state; and what they read off TCP.

hooks        pacing_hook (flows at their pace), gateway_hook (connections through a gateway, and its buffer)
queues       paced_flow (a flow's schedule, queue and soft state; their table), wake_heap (whose turn it is: all flows'
             deadlines, or one rate for all)
TCP seen     tcp_seen (what has left and is not acknowledged, a connection's end, the window promised)

No paper's algorithm may enter, only what two of them use. Sees the contract and segments.
"""
