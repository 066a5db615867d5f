"""The kinds of topology: those of one paper, or of one idea, in a module each."""
