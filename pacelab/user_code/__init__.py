"""What users write themselves: pacers, link layers. Knows running."""
