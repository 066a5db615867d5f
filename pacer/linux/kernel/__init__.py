"""What agents ask of the kernel: queues, rules, pacing, retries, stations."""
