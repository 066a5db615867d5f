"""VAGP: the gateway gives TCP the capacity that the calls leave, at a rate that depends on their MOS.

Stations report the voice quality that they receive. The gateway judges all calls, sets one rate for all TCP data,
repairs losses in the air and limits windows to what its queues need.

Source: [vagp] Niculescu, Kim, Rangarajan and Hong. Built on `pacing`.
"""
