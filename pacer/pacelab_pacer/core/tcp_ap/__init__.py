"""TCP-AP as Lee studied it: wireless senders alone pace, by the n-hop delay of any n; and dynamic delayed ACKs.

Source: [lee] Lee 2012, after ElRakabawy, Klemm and Lindemann. Built on `tcp_gap`: its sender without its gateway.
"""
