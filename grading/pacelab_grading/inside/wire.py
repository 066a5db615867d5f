"""The pipe between the grader and a student's process: frames of JSON, version 3.

    frame     length (4 bytes, big endian), then that many bytes of JSON in UTF-8
    request   [nonce, operation, argument...]
    answer    [nonce, "ok", value] or [nonce, "raised", {"type", "kinds", "text", "where"}]
              kinds: the built-in exceptions in its class hierarchy
    question  before an answer, any number of times: [nonce, "asks", [operation, argument...]] about borrowed names; the
              grader replies ["ok", value] or ["raised", {"type", "text"}]

The process first sends a hello without a request, with nonce "hello" and the version. Every other answer repeats the
nonce of its request. The nonce cannot be guessed, so an answer that was made before its request is recognized. Only
plain data passes: no pickle, no NaN, no custom objects.

Operations
    load                                                import the file; the value is its public classes and functions
    borrow PARTS                                        replace these names by the reference's (`Lender`); new, call and
                                                        get may be asked about them
    new CLASS KEYWORDS ARGUMENTS                        make an object; the value is its number
    call OBJECT METHOD ARGUMENTS KEYWORDS               OBJECT None: a function of the module
    tell OBJECT METHOD ARGUMENTS NAME                   call a method; the value is that of the attribute NAME after it
    get OBJECT NAME                                     an attribute
    mask OBJECT                                         event_mask of a hook
    seen OBJECT NOW_NS POINT SEGMENT RATES              the contract's handle(SegmentSeen); value [actions, deadline]
    sent OBJECT NOW_NS SEGMENT ATTEMPTS DELIVERED NEXT  the contract's handle(TransmitResult); value [actions, deadline]
    timeout OBJECT NOW_NS                               the contract's handle_timeout; value [actions, deadline]
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
"""A hook's answer has some hundred bytes."""


class MalformedError(Exception):
    """The other side sent a message that the protocol does not permit."""


def encode(message: Any, limit_bytes: int) -> bytes:
    """One frame. Raises ValueError or TypeError if the message is not plain data, MalformedError above the limit."""
    body = _ENCODER.encode(message).encode("utf-8", "backslashreplace")
    if len(body) > limit_bytes:
        raise MalformedError(f"a message of {len(body)} bytes (at most {limit_bytes} are valid)")
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def body_bytes(header: bytes, limit_bytes: int) -> int:
    """Length of the body that this header announces. Raises MalformedError above the limit."""
    length = int.from_bytes(header, "big")
    if length > limit_bytes:
        raise MalformedError(f"a message that announces {length} bytes (at most {limit_bytes} are valid)")
    return length


def decode(body: bytes) -> Any:
    """The message of one frame. Raises MalformedError if it is not JSON."""
    try:
        return _DECODER.decode(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"not JSON: {type(error).__name__}") from None


def read_exactly(descriptor: int, count: int) -> bytes:
    """Blocking read of `count` bytes. Raises EOFError when the other side has ended."""
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
