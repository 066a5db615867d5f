"""The pipe between the grader and a student's process: frames of JSON, version 3.

    frame     length (4 octets, big endian), then that many octets of JSON in UTF-8
    request   [nonce, operation, argument...]
    answer    [nonce, "ok", value] or [nonce, "raised", {"type", "kinds", "text", "where"}]
              kinds: Python's own exceptions that it is one of
    before an answer, any number of times: [nonce, "asks", [operation, argument...]] of what was borrowed, to which the
              grader says ["ok", value] or ["raised", {"type", "text"}]

The process says hello first, unasked, with nonce "hello" and the version. Every other answer repeats the nonce of its
request, which cannot be guessed: an answer made before it was asked for is recognised. Only plain data passes: no
pickle, no NaN, no object of anybody's own.

Operations
    load                                                import the file; the value: its public classes, functions
    borrow PARTS                                        these names are the reference's from now on (`Lender`):
                                                        new, call and get are what may be asked of them
    new CLASS KEYWORDS ARGUMENTS                        make an object; the value is its number
    call OBJECT METHOD ARGUMENTS KEYWORDS               OBJECT None: a function of the module
    tell OBJECT METHOD ARGUMENTS NAME                   likewise, but the value is that of an attribute thereafter
    get OBJECT NAME                                     an attribute
    mask OBJECT                                         event_mask of a hook
    seen OBJECT NOW_NS POINT SEGMENT RATES              the contract's handle(SegmentSeen): value [actions, deadline]
    sent OBJECT NOW_NS SEGMENT ATTEMPTS DELIVERED NEXT  the contract's handle(TransmitResult): likewise
    timeout OBJECT NOW_NS                               the contract's handle_timeout: likewise
    counters OBJECT                                     the contract's counters
"""

from __future__ import annotations

import json
import os
from typing import Any

VERSION = 3
HELLO = "hello"
HEADER_BYTES = 4
MAX_REQUEST_BYTES = 1 << 20
MAX_ANSWER_BYTES = 1 << 18
"""A hook's answer takes some hundred octets."""


class MalformedError(Exception):
    """The other side sent what the protocol does not allow."""


def encode(message: Any, limit_bytes: int) -> bytes:
    """One frame. Raises ValueError or TypeError for what is no plain data, MalformedError above the limit."""
    body = _ENCODER.encode(message).encode("utf-8", "backslashreplace")
    if len(body) > limit_bytes:
        raise MalformedError(f"a message of {len(body)} bytes: allowed are {limit_bytes}")
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def body_bytes(header: bytes, limit_bytes: int) -> int:
    """Length of the body that this header announces; MalformedError above the limit."""
    length = int.from_bytes(header, "big")
    if length > limit_bytes:
        raise MalformedError(f"a message of {length} bytes was announced: allowed are {limit_bytes}")
    return length


def decode(body: bytes) -> Any:
    """The message of one frame; MalformedError for anything that is not JSON."""
    try:
        return _DECODER.decode(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"not JSON: {type(error).__name__}") from None


def read_exactly(descriptor: int, count: int) -> bytes:
    """Blocking read of `count` octets; EOFError when the other side is gone."""
    parts = []
    while count:
        part = os.read(descriptor, count)
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_all(descriptor: int, frame: bytes) -> None:
    """Blocking write of a whole frame."""
    view = memoryview(frame)
    while view:
        view = view[os.write(descriptor, view) :]


def _no_constant(name: str) -> Any:
    raise ValueError(name)


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, ensure_ascii=False, check_circular=False)
_DECODER = json.JSONDecoder(parse_constant=_no_constant)
