"""What a network is: nodes, positions, ranges, wired links, gateways, flows. Pure data, no back end in it.

    model      Node, WiredLink, Flow, Topology: validated on construction
    domain     what a value may be: parses text, checks values, says what is allowed
    registry   name -> kind of topology, with its options
    plot       a topology as text or as a figure

One file per kind: chain, cell, hidden, exposed, reuse. Bad values raise `ValueError` with one line that names the
value and what is allowed; pacelab turns it into its own error at the edge.
"""
