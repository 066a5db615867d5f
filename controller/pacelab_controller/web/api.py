"""The routes, and the models of requests and answers.

All routes use the driver; none keeps state.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from importlib.metadata import entry_points
from ipaddress import IPv4Address
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pacelab.documents import JsonObject
from pacelab.domains import Real, Whole
from pacelab.units import NS_PER_S
from pacelab_controller.core.controller import Controller
from pacelab_controller.core.frames import address_text, mac_text
from pacelab_controller.core.messages import Entry, FiveTuple
from pacelab_controller.core.policy import SILENT_NS, Gateway
from pacelab_controller.openflow.driver import Driver

# Requests and answers. Rates are in bit/s, times in seconds.

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$")]
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_FIRST = "(22[0-3]|2[01][0-9]|1[3-9][0-9]|12[0-689]|1[01][0-9]|[1-9][0-9]?)"
ADDRESS = rf"^{_FIRST}\.{_BYTE}\.{_BYTE}\.{_BYTE}$"
"""An IPv4 address of one host: the first number is 1 to 223, not 127."""
Address = Annotated[str, Field(pattern=ADDRESS, examples=["10.77.0.3"])]
MAX_ROWS = 256


def _integral_as_int(value: Any) -> Any:
    """JSON has one kind of number, so 15.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Port = Annotated[int, Whole(0, 65_535), BeforeValidator(_integral_as_int)]
Limit = Annotated[float, Real(0, 1e12)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Policy(_Strict):
    """The policy of a gateway."""

    scheme: Name | None = Field(default=None, description="a scheme that its agent can run; null: unchanged")
    limits: dict[Name, Limit] = Field(
        default={},
        max_length=16,
        description="settings of the scheme by name",
        json_schema_extra={"additionalProperties": False},  # no names outside the pattern
    )


class GatewayHello(_Strict):
    """What a gateway's agent states when it starts."""

    address: Address
    schemes: list[Name] = Field(max_length=64)
    limits: list[Name] = Field(default=[], max_length=16)
    scheme: Name


class FlowReport(_Strict):
    """An agent's measurements of one flow."""

    src: Address
    dst: Address
    protocol: Annotated[int, Whole(0, 255), BeforeValidator(_integral_as_int)]
    sport: Port
    dport: Port
    rtt_s: Annotated[float, Real(0, 1e6)] | None = None
    mos: Annotated[float, Real(1, 5)] | None = None


class GatewayReport(_Strict):
    """An agent's status, once per second."""

    scheme: Name
    refused: Annotated[str, Field(max_length=300)] | None = None
    flows: list[FlowReport] = Field(default=[], max_length=MAX_ROWS)


class StationPlace(_Strict):
    """The gateway of a station."""

    gateway: Name


class GatewayState(BaseModel):
    """A gateway."""

    name: str
    address: str
    scheme: str
    wanted_scheme: str | None
    limits: dict[str, float]
    schemes: list[str]
    takes: list[str]
    refused: str | None
    alive: bool


class FlowRow(BaseModel):
    """A flow, one direction."""

    model_config = ConfigDict(populate_by_name=True)

    flow: str
    protocol: str
    kind: str = Field(alias="class")
    reason: str
    rate_bps: int
    packets: int
    bytes: int
    age_s: float
    path: list[str]
    rtt_s: float | None
    mos: float | None


class Flows(BaseModel):
    """The number of flows, and the fastest ones."""

    count: int
    flows: list[FlowRow]


class Link(BaseModel):
    """A link, one direction."""

    src: str
    src_port: int
    dst: str
    dst_port: int


class Switch(BaseModel):
    """A switch."""

    id: str
    name: str
    ports: dict[str, str]


class Station(BaseModel):
    """An address and its place."""

    address: str
    name: str | None
    switch: str
    port: int
    mac: str
    how: str


class Topology(BaseModel):
    """The network as it is now."""

    switches: list[Switch]
    links: list[Link]
    stations: list[Station]
    counters: dict[str, int]


class Problem(BaseModel):
    """Why a request failed."""

    detail: str | list[Any]


# The routes.

MAX_STREAMS = 32
STREAM_STEP_S = 0.1
HEARTBEAT_S = 5.0
SHOWN = 200
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in (
        (401, "the token is missing or wrong"),
        (403, "a foreign Host or Origin"),
        (400, "invalid HTTP"),
    )
}
WRITES = PROBLEMS | {
    404: {"model": Problem, "description": "unknown name"},
    409: {"model": Problem, "description": "not possible now"},
    411: {"model": Problem, "description": "the body has no length"},
    413: {"model": Problem, "description": "the body is too large"},
    422: {"model": Problem, "description": "invalid value"},
}

PAGE_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
"""The link contains the token, so it must not leave this page."""

GatewayName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$")]


def make_api(driver: Driver, *, names: dict[str, str], picture: JsonObject | None = None) -> FastAPI:
    """The application. `names`: names of switches (16 hexadecimal digits) and addresses; `picture`: for the page."""
    api = FastAPI(
        title="PaceLab's controller",
        version="1",
        description="The wired side: topology, flows, gateways' policies, events.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses=PROBLEMS,
    )
    api.add_exception_handler(RequestValidationError, _refused)
    _add_views(api, driver, names)
    _add_gateways(api, driver)
    _add_events(api, driver)
    _add_page(api, driver, names, picture)
    return api


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    """Report invalid values without repeating them, because they may not be JSON (NaN)."""
    assert isinstance(error, RequestValidationError)
    found = [{name: problem[name] for name in ("type", "loc", "msg")} for problem in error.errors()]
    return JSONResponse({"detail": found}, status_code=422)


def _add_views(api: FastAPI, driver: Driver, names: dict[str, str]) -> None:
    """Routes that read."""

    @api.get("/v1/topology", response_model=Topology)
    def topology() -> Any:
        """Switches, links, and the places of addresses."""
        return driver.ask(lambda controller, _now_ns: _topology(controller, names))

    @api.get("/v1/flows", response_model=Flows)
    def flows(limit: Annotated[int, Query(ge=1, le=10_000)] = SHOWN) -> Any:
        """Flows with class and rate, the fastest first."""
        return driver.ask(lambda controller, now_ns: _flows(controller, now_ns, limit))

    @api.get("/v1/gateways", response_model=list[GatewayState])
    def gateways() -> Any:
        """Gateways with scheme and policy."""
        return driver.ask(lambda controller, now_ns: [_gateway(one, now_ns) for one in controller.policies.all()])


def _add_gateways(api: FastAPI, driver: Driver) -> None:
    """Routes for gateways' agents and their policies."""

    @api.put("/v1/gateways/{name}", response_model=GatewayState, responses=WRITES)
    def announce(name: GatewayName, hello: GatewayHello) -> Any:
        """A gateway's agent has started; the answer contains its policy."""

        def tell(controller: Controller, now_ns: int) -> Any:
            gateway = Gateway(
                name=name,
                address=_number(hello.address),
                schemes=tuple(hello.schemes),
                limits=tuple(hello.limits),
                scheme=hello.scheme,
                heard_ns=now_ns,
            )
            return controller.announce(now_ns, gateway) or _gateway(gateway, now_ns)

        found = driver.ask(tell)
        if isinstance(found, str):
            raise HTTPException(409, found)
        return found

    @api.put("/v1/gateways/{name}/policy", response_model=GatewayState, responses=WRITES)
    def set_policy(name: GatewayName, policy: Policy) -> Any:
        """Set the scheme and the limits of a gateway."""

        def tell(controller: Controller, now_ns: int) -> Any:
            found = controller.set_policy(now_ns, name, scheme=policy.scheme, limits=policy.limits)
            return found if isinstance(found, str) else _gateway(found, now_ns)

        found = driver.ask(tell)
        if isinstance(found, str):
            raise HTTPException(404 if found.startswith("no gateway") else 409, found)
        return found

    @api.post("/v1/gateways/{name}/status", status_code=204, responses=WRITES)
    def report(name: GatewayName, status: GatewayReport) -> Response:
        """The status of a gateway's agent."""
        seen = {
            FiveTuple(_number(row.src), _number(row.dst), row.protocol, row.sport, row.dport): (row.rtt_s, row.mos)
            for row in status.flows
        }
        known = driver.ask(
            lambda controller, now_ns: controller.report(
                now_ns, name, scheme=status.scheme, refused=status.refused, flows=seen
            )
        )
        if not known:
            raise HTTPException(404, f"no gateway {name!r}; send PUT /v1/gateways/{name} first")
        return Response(status_code=204)

    @api.put("/v1/stations/{address}", status_code=204, responses=WRITES)
    def register(address: Annotated[str, Path(pattern=ADDRESS)], place: StationPlace) -> Response:
        """A station is at this gateway now."""
        problem = driver.ask(lambda controller, now_ns: controller.register(now_ns, _number(address), place.gateway))
        if problem is not None:
            raise HTTPException(404 if problem.startswith("no gateway") else 409, problem)
        return Response(status_code=204)


def _add_events(api: FastAPI, driver: Driver) -> None:
    """The event stream."""
    streams = [0]

    @api.get("/v1/events", responses={200: {"content": {"text/event-stream": {}}}, 503: {"model": Problem}})
    async def events(since: Annotated[int | None, Query(ge=0, le=2**53)] = None) -> Response:
        """Server-sent events from now on, or from the event with the number `since`, if it is still kept."""
        if streams[0] >= MAX_STREAMS:
            raise HTTPException(503, f"there are {MAX_STREAMS} streams already; close one")
        return StreamingResponse(_stream(driver, since, streams), media_type="text/event-stream")


def _add_page(api: FastAPI, driver: Driver, names: dict[str, str], picture: JsonObject | None) -> None:
    """The page, which pacelab offers by an entry point."""
    pages = entry_points(group="pacelab.pages", name="network")

    @api.get("/", response_class=HTMLResponse, include_in_schema=False)
    def page() -> HTMLResponse:
        for offered in pages:
            make_page: Callable[[JsonObject], str] = offered.load()
            return HTMLResponse(make_page(picture or {}), headers=PAGE_HEADERS)
        raise HTTPException(404, "no page is installed; install pacelab")


async def _stream(driver: Driver, since: int | None, streams: list[int]) -> AsyncIterator[str]:
    streams[0] += 1
    try:
        number = driver.controller.journal.next if since is None else since
        quiet_s = 0.0
        yield ": PaceLab's controller\n\n"
        while True:
            entries = driver.ask(lambda controller, _now_ns, at=number: controller.journal.since(at))  # type: ignore[misc]
            for entry in entries:
                number = entry.number + 1
                yield _event(entry)
            quiet_s = 0.0 if entries else quiet_s + STREAM_STEP_S
            if quiet_s >= HEARTBEAT_S:
                quiet_s = 0.0
                yield ": still here\n\n"
            await asyncio.sleep(STREAM_STEP_S)
    finally:
        streams[0] -= 1


def _event(entry: Entry) -> str:
    data = {"t_s": round(entry.at_ns / NS_PER_S, 6), **entry.data}
    return f"id: {entry.number}\nevent: {entry.kind}\ndata: {json.dumps(data, allow_nan=False)}\n\n"


def _topology(controller: Controller, names: dict[str, str]) -> JsonObject:
    network = controller.network
    ports: dict[int, dict[str, str]] = {dpid: {} for dpid in network.switches}
    for end, _mac in network.ports():
        ports[end.dpid][str(end.port)] = network.port_name(end)
    return {
        "switches": [
            {"id": _id(dpid), "name": names.get(_id(dpid), f"s{dpid:x}"), "ports": found}
            for dpid, found in ports.items()
        ],
        "links": [
            {"src": _id(far.dpid), "src_port": far.port, "dst": _id(here.dpid), "dst_port": here.port}
            for far, here in network.links()
        ],
        "stations": [
            {
                "address": address_text(address),
                "name": names.get(address_text(address)),
                "switch": _id(place.end.dpid),
                "port": place.end.port,
                "mac": mac_text(place.mac),
                "how": how.name.lower(),
            }
            for address, place, how, _since_ns in controller.locations.all()
        ],
        "counters": dict(controller.counters),
    }


def _flows(controller: Controller, now_ns: int, limit: int) -> JsonObject:
    busy = sorted((flow for flow in controller.flows if flow.packets), key=lambda flow: -flow.rate_bps)
    return {"count": len(busy), "flows": [flow.row(now_ns, controller.network) for flow in busy[:limit]]}


def _gateway(gateway: Gateway, now_ns: int) -> JsonObject:
    return {
        "name": gateway.name,
        "address": address_text(gateway.address),
        "scheme": gateway.scheme,
        "wanted_scheme": gateway.wanted_scheme,
        "limits": gateway.wanted_limits,
        "schemes": list(gateway.schemes),
        "takes": list(gateway.limits),
        "refused": gateway.refused,
        "alive": now_ns - gateway.heard_ns < SILENT_NS,
    }


def _number(address: str) -> int:
    return int(IPv4Address(address))


def _id(dpid: int) -> str:
    return f"{dpid:016x}"
