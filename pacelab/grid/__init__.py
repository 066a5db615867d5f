"""Many runs: every combination of options, schemes and seeds; comparisons. Knows running and show."""
