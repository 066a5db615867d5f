"""What the flows of a topology carry, and when. May import options and topologies."""
