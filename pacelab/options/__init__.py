"""The options of a run: the table of options, the given values, the resolved values. Imports only
topologies' domains.
"""
