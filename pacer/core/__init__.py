"""The algorithms, sans-IO: time and events in, actions out. See `contract` for the one door."""
