"""Many runs: every combination of options, schemes, and seeds; comparisons. May import running and figures."""
