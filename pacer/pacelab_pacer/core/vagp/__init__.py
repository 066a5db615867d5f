"""VAGP: the gateway gives TCP what the calls leave over, at a rate that follows their MOS.

Stations report how well they hear. The gateway judges all calls, sets one rate for all TCP data, repairs losses in the
air and limits windows to what its queues need.

Source: [vagp] Niculescu, Kim, Rangarajan and Hong. Built on `pacing`.
"""
