"""From what is asked for to an experiment that is whole. Knows all that is declared, and nothing that runs."""
