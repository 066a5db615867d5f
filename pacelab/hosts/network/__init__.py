"""The network of real hosts: namespaces, addresses, wires, sockets, the medium, what is counted there."""
