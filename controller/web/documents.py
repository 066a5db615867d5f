"""What requests carry and answers say. Rates are bit/s, times seconds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$")]
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_FIRST = "(22[0-3]|2[01][0-9]|1[3-9][0-9]|12[0-689]|1[01][0-9]|[1-9][0-9]?)"
ADDRESS = rf"^{_FIRST}\.{_BYTE}\.{_BYTE}\.{_BYTE}$"
"""An IPv4 address that one host can have: 1 to 223 first, not 127."""
Address = Annotated[str, Field(pattern=ADDRESS, examples=["10.77.0.3"])]
MOST_ROWS = 256


def _whole(value: Any) -> Any:
    """JSON knows one kind of number: 15.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Port = Annotated[int, Field(ge=0, le=65_535), BeforeValidator(_whole)]
Limit = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Policy(_Strict):
    """What a gateway is to do."""

    scheme: Name | None = Field(default=None, description="one that its agent can run; null: as it is")
    limits: dict[Name, Limit] = Field(
        default={},
        max_length=16,
        description="settings of the scheme, by name",
        json_schema_extra={"additionalProperties": False},  # other names than those of the pattern
    )


class GatewayHello(_Strict):
    """What a gateway's agent says of itself when it starts."""

    address: Address
    schemes: list[Name] = Field(max_length=64)
    limits: list[Name] = Field(default=[], max_length=16)
    scheme: Name


class FlowReport(_Strict):
    """What an agent knows of one flow."""

    src: Address
    dst: Address
    protocol: Annotated[int, Field(ge=0, le=255), BeforeValidator(_whole)]
    sport: Port
    dport: Port
    rtt_s: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = None
    mos: Annotated[float, Field(ge=1, le=5, allow_inf_nan=False)] | None = None


class GatewayReport(_Strict):
    """What an agent does and sees, each second."""

    scheme: Name
    refused: Annotated[str, Field(max_length=300)] | None = None
    flows: list[FlowReport] = Field(default=[], max_length=MOST_ROWS)


class StationPlace(_Strict):
    """Where a station is now."""

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
    """The fastest flows, and how many there are."""

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
    """Why a request was not carried out."""

    detail: str | list[Any]
