"""The result of a run: run.json, host.json, series, captures, and figures of merit. May import experiments."""
