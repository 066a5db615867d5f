"""Any bytes at all: read, rewritten, never an exception. A million cases: `python tests/linux/fuzz.py 1000000`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelab.pacer.core.segment import Segment
from pacelab.pacer.linux.packet import PacketReader

CASES = 4_000


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).with_name("fuzz.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_packet_fuzz_damaged_real_packets(fuzz) -> None:
    counts = fuzz.run(CASES, seed=1)
    assert sum(counts.values()) == CASES
    # Every reason was met, and segments too: else the fuzzer tests nothing.
    assert set(counts) >= {"segment", *fuzz.REASONS}, counts


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.binary(max_size=120))
def test_packet_fuzz_arbitrary_bytes(data: bytes) -> None:
    reader = PacketReader()
    got = reader.read(1, data)
    assert not isinstance(got, Segment) or got.packet_bytes == len(data)
