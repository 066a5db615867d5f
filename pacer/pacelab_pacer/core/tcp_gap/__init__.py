"""TCP-GAP: a flow's packets leave a gateway and wireless senders no faster than the path ahead clears.

The pace is the n-hop delay of the wireless path, slowed down by how much its round trips vary; the gateway also mends
losses of the air itself and throttles flows that have more than their share.

Source: [tcp-gap] ElRakabawy, Klemm and Lindemann 2006. Built on `pacing`.
"""
