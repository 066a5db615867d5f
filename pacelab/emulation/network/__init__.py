"""The network of real hosts: namespaces, addresses, wires, radios, the medium, what is counted there."""
