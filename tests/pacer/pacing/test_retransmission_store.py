from __future__ import annotations

from hook_shell import DOWN, data

from pacelab.pacer.core.pacing.retransmission_store import RetransmissionStore


def filled() -> RetransmissionStore:
    store = RetransmissionStore()
    for i in range(3):
        assert store.keep(data(DOWN, i * 100, 100)) is None
    return store


def test_ack_frees_what_it_covers() -> None:
    store = filled()
    assert len(store.acknowledged(200)) == 2
    assert store.acknowledged(299) == []
    assert (len(store), store.kept_bytes) == (1, 100)


def test_newer_copy_replaces_the_older() -> None:
    store = RetransmissionStore()
    older, newer = data(DOWN, 0, 100), data(DOWN, 0, 60)
    assert store.keep(older) is None
    assert store.keep(newer) == older.handle
    assert (len(store), store.kept_bytes) == (1, 60)
    assert store.drain() == [newer.handle]


def test_hole_is_filled_once_per_rtt() -> None:
    store = filled()
    answers = [store.fill(at_ns, 100, rtt_ns=50)[1] for at_ns in (10, 11, 59, 60, 61)]
    assert answers == [True, False, False, True, False]


def test_unknown_hole_is_not_filled() -> None:
    assert filled().fill(10, 50, rtt_ns=50) == (None, False)


def test_eviction_takes_the_oldest() -> None:
    store = filled()
    store.evict()
    assert store.fill(10, 0, rtt_ns=50) == (None, False)
    assert (len(store), store.kept_bytes) == (2, 200)
