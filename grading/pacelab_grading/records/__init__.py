"""Who handed in, and what it came to: roster, gradebook, reports, Gradescope."""
