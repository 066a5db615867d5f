"""VAGP: the gateway gives TCP what the calls leave over, a rate that follows their MOS.

Stations report how well they hear; the gateway judges all calls, sets one rate for all TCP data, mends losses of the
air and holds windows to what its queues need.

Source: [vagp] Niculescu, Kim, Rangarajan and Hong. Built on `pacing`.
"""
