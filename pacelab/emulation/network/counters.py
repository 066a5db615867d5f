"""Names of mediumd's counters that a result contains."""

COUNTED = (
    *("rts_sent", "data_sent", "cts_sent", "ack_sent", "delivered_frames", "retries", "rts_failures"),
    *("data_failures", "drops_rts", "drops_data", "drops_queue", "backoff_slots", "backoffs", "airtime_s"),
)
"""mediumd's counters of a station. A result has the difference over the measured part."""
GAUGES = ("queue_max_pkts", "queue_mean_pkts", "queue_sd_pkts")
DROPS = ("mac-rts", "mac-data", "queue")
OUTSIDE = ("no-station", "malformed", "host")
"""Drops outside the model; listed only if there are any."""
