"""A private Open vSwitch: its database, sockets and logs are in our folder, its ports in our namespace.

ovs       starts it, and makes bridges and ports with a queue for voice
hosts     namespaces connected to it, for the self-test
selftest  `pacelab controller --check`
wired     the switches of a run on real hosts (`--controller ryu`)
"""
