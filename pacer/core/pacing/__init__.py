"""What pacers are built of: queues, schedules, soft state, the hooks' common base; and what they read off TCP.

queues       flow_pacer (one flow: segment_queue and release_schedule), wake_heap (all flows' deadlines),
             rate_shaper (one rate for all flows), flow_table (soft state), buffer_budget
hooks        pacing_hook (each flow at its own pace), shaping_hook (all flows at one rate); pace (what sets one)
TCP seen     ack_progress, rtt_matcher, retransmission_store, teardown, window_edge

No paper's algorithm may enter, only what two of them use. Sees the contract and segments.
"""
