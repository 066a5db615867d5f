"""The kinds of topology, one module each, with what several of them share."""
