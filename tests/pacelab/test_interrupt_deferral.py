"""Ctrl-C is noted at once and raised where a run can stop."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from pacelab.sim.interrupt import deferred_interrupts


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_interrupt_waits_for_the_next_check() -> None:
    steps = []

    def work() -> None:
        with deferred_interrupts() as check:
            check()
            press()
            steps.append("the packet is finished")
            check()
            steps.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["the packet is finished"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupt_after_the_last_check_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        press()


def test_second_interrupt_raises_at_once() -> None:
    steps = []

    def work() -> None:
        with deferred_interrupts():
            press()
            press()
            steps.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == []


def test_other_threads_leave_interrupts_alone() -> None:
    found = []

    def work() -> None:
        with deferred_interrupts() as check:
            check()
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
