from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pacelab.pacer.linux.checksum import checksum, updated, words_sum


def test_words_sum_rfc_1071_example() -> None:
    # RFC 1071 Sec. 3: 00 01 f2 03 f4 f5 f6 f7 sums to ddf2.
    assert words_sum(bytes.fromhex("0001f203f4f5f6f7")) == 0xDDF2
    assert checksum(0xDDF2) == 0x220D


def test_words_sum_pads_an_odd_byte_behind() -> None:
    assert words_sum(b"\x12\x34\x56") == 0x1234 + 0x5600


def test_updated_rfc_1624_example() -> None:
    # RFC 1624 Sec. 4: a header with checksum dd2f, word 5555 becomes 3285: the new checksum is 0000, not ffff.
    assert updated(0xDD2F, 0x5555, 0x3285) == 0x0000


@given(
    st.binary(min_size=2, max_size=60).filter(lambda data: len(data) % 2 == 0),
    st.integers(0, 29),
    st.binary(min_size=2, max_size=2),
)
def test_updated_agrees_with_summing_anew(data: bytes, word: int, new: bytes) -> None:
    at = 2 * (word % (len(data) // 2))
    changed = data[:at] + new + data[at + 2 :]
    old = checksum(words_sum(data))
    after = updated(old, words_sum(data[at : at + 2]), words_sum(new))
    # 0000 and ffff are the same number; a verifier takes both.
    assert after % 0xFFFF == checksum(words_sum(changed)) % 0xFFFF
