"""Assignment 3: a gateway that paces by the four-hop delay."""
