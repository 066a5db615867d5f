"""Assignment 4: Link RED."""
