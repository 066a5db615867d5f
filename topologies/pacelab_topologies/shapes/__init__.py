"""The kinds of topology. Each module has those of one paper or one idea."""
