"""What can be asked of a run: the table of options, what was given, what it came to. Knows topologies' domains only."""
