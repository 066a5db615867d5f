"""No TCP ACKs over one wireless hop: gateway and station make them of the link layer's acknowledgements.

Source: [le] Le et al. Sees the contract and segments, and of `pacing` the queue of deadlines and what
tells a connection's end.
"""
