"""What the topologies of Lee's testbed share: 802.11a, RTS off, no MAC retries.

Source: [lee] Sec. 4.1. The limits count attempts, the first one included: 1 is "MAC-layer retries set to zero".
"""

from __future__ import annotations

from typing import Any


def settings(*, rate_bps: int) -> dict[str, Any]:
    """Defaults of a topology of the testbed."""
    return {"phy": "802.11a", "rate_bps": rate_bps, "rts": False, "retry_short": 1, "retry_long": 1}
