"""What a network is: nodes, positions, radios, wired links, gateways, flows. Pure data, no back end in it."""
