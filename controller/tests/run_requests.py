"""Valid and invalid requests that Schemathesis makes from the controller's OpenAPI document; `test_api.py`
runs this.
"""

from __future__ import annotations

import os
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings

from controller.tests.running import HELLO, TOKEN, Client

SHARED = Client()
SHARED.ask("PUT", "/v1/gateways/GA", HELLO)
schema = schemathesis.openapi.from_url(f"{SHARED.url}/v1/openapi.json", headers=TOKEN)


@schema.exclude(path="/v1/events").parametrize()
@settings(max_examples=int(os.environ["REQUESTS"]), deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_makes_it_fail(case: Any) -> None:
    """The document describes each answer."""
    case.call_and_validate(headers=TOKEN)


def test_the_server_still_works() -> None:
    assert SHARED.ask("GET", "/v1/topology").status_code == 200
    SHARED.close()
