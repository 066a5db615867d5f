"""The algorithms, sans-IO: time and events in, actions out. See `contract` for the one door.

Where what is:

hooks        tcp_gap_sender, tcp_gap_gateway, tcp_ap_sender, fixed_rate, null; pacing_hook is what pacers share
pace         pace (what sets one), pace_estimator (T = 1/R) from rtt_matcher, round_trip_timeout (which RTTs
             count), wireless_path (n-hop delay) and variation (COV)
queues       flow_pacer (one flow), wake_heap (all flows' deadlines), flow_table (soft state), buffer_budget
TCP seen     segment, ack_progress, retransmission_store, teardown
fairness     goodput_control
"""
