"""Open vSwitch, private: its database, sockets and logs in a folder of ours, its ports in a namespace of ours.

ovs        starts it, makes bridges and ports with a queue for voice
hosts      namespaces on it, for the self test
selftest   `pacelab controller --check`
wired      switches of a run on real hosts (`--controller ryu`)
"""
