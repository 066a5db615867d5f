"""What a run gave: run.json, host.json, series, captures; and the figures of merit. Knows experiments."""
