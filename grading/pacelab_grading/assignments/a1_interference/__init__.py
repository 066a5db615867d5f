"""Assignment 1: who interferes with whom."""
