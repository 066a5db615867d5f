"""What pacers are built of: hooks' common bases, queues, schedules, soft state; and what they read off TCP.

hooks        pacing_hook (flows at their pace), gateway_hook (connections through a gateway); pace (what sets one)
queues       flow_pacer (one flow), release_schedule, wake_heap (all flows' deadlines), rate_shaper (one rate for all),
             paced_flow and flow_table (soft state), buffer_budget
TCP seen     outstanding (what has left and is not acknowledged), teardown, window_edge

No paper's algorithm may enter, only what two of them use. Sees the contract and segments.
"""
