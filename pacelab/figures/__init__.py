"""Tables and figures of results, and the air's timeline. Knows results, and nothing that runs many."""
