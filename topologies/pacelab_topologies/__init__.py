"""What a network is: nodes, positions, ranges, wired links, gateways, flows. Pure data, no back end in it.

    model      Node, WiredLink, Flow, Move, LinkRate, Topology: validated on construction
    domain     valid values of an option: parses text, checks values, describes them
    quantity   a number with a unit, as in "40 ms"
    registry   name -> kind of topology, with its options
    own        a user's own topology from a YAML or Python file; document: YAML with line numbers; beside: files that a
               file of your own imports; memory: how much of it such a file may take; waiting: a word when it does
               not return
    plot       a topology as text or as a figure
    common     what several kinds share; lee: the settings of Lee's testbed

One file per kind. A kind states its source, its options with their ranges, and where a paper leaves a gap what was
chosen (`Deviates:`). A topology may bring defaults that belong to it (`Topology.defaults`): PHY, rate, RTS, retries.
A bad value raises `ValueError` with one line that names the valid values and the value; pacelab turns it into its own
error at the edge.
"""
