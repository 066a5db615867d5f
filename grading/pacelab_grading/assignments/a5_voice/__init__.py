"""Assignment 5: voice quality, and a rate that protects it."""
