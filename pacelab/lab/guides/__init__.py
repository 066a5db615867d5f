"""The eight labs' own cells, one module each."""
