"""The simple schemes with which papers compare their own: a fixed rate per flow or for all, spaced ACKs, small windows.

Source: [vagp] Sec. IV-B, [lee] Sec. 3.3. Built on `pacing`; imports no other paper.
"""
