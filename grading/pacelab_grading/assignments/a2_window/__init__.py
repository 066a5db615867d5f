"""Assignment 2: the window and W*."""
