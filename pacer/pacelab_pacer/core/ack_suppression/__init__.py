"""No TCP ACKs over one wireless hop: gateway and station make them from the link layer's acknowledgements.

Source: [le] Le et al. Imports the contract and segments, and from `pacing` the queue of deadlines and the detection of
a connection's end.
"""
