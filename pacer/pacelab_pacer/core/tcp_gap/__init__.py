"""TCP-GAP: a flow's packets leave a gateway and wireless senders no faster than the path ahead clears.

The pace is the n-hop delay of the wireless path, lengthened by the variation of its round trips. The gateway also
repairs losses in the air and throttles flows that have more than their share.

Source: [tcp-gap] ElRakabawy, Klemm and Lindemann 2006. Built on `pacing`.
"""
