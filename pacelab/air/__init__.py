"""The back end `sim`: an experiment as air configuration, the engine, hooks in this process. Knows results."""
