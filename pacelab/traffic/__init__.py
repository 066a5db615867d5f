"""What the flows of a topology carry, and when. Knows options and topologies."""
