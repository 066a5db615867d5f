"""Makes a complete experiment from a request. It knows all definitions, but imports nothing that runs."""
