"""Networks as pure data without a back end: nodes, positions, ranges, wired links, gateways, flows.

    model      Node, WiredLink, Flow, Move, LinkRate, Topology: validated on construction
    domain     valid values of an option: parses text, checks values, describes them
    kind       a named kind of topology with its options, and the parts that several kinds share
    registry   name -> kind of topology
    shapes     the kinds: a module for each paper or idea
    own        a user's topology from a YAML or Python file; document: YAML with line numbers
    mobility   walks of nodes; traces: readers for the trace formats of other programs
    text       a topology as text

A kind states its source, its options with their ranges, and our choice where a paper leaves
a gap (`Deviates:`). A topology may have its own defaults (`Topology.defaults`): PHY, rate, RTS, retries. An invalid
value raises `ValueError` with one line that names the valid values and the value. pacelab converts the error to its own
type.
"""
