"""The network of real hosts: namespaces, addresses, wires, radios, the medium, and their counters."""
