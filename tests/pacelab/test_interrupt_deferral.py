"""Ctrl-C is noted at once and raised where a run can stop."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from pacelab import Experiment, run
from pacelab.sim.engine import deferred_alarms, deferred_interrupts


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


def test_what_ends_a_command_that_is_deaf_to_ctrl_c_waits_too() -> None:
    steps = []

    def work() -> None:
        with deferred_interrupts() as check:
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("the packet is finished")
            check()
            steps.append("never")

    before = signal.signal(signal.SIGINT, signal.SIG_IGN), signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert steps == ["the packet is finished"]


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


class TimeIsUp(Exception):
    """What a caller's alarm raises."""


@pytest.fixture
def alarm() -> Iterator[None]:
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("no alarms here")

    def ring(number: int, frame: object) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarm")
def test_an_alarm_waits_for_the_next_check() -> None:
    steps, handler = [], signal.getsignal(signal.SIGALRM)

    def work() -> None:
        with deferred_alarms() as check:
            check()
            signal.raise_signal(signal.SIGALRM)
            steps.append("the packet is finished")
            check()
            steps.append("never")

    with pytest.raises(TimeIsUp):
        work()
    assert steps == ["the packet is finished"]
    assert signal.getsignal(signal.SIGALRM) is handler


@pytest.mark.usefixtures("alarm")
def test_an_alarm_after_the_last_check_is_not_lost() -> None:
    with pytest.raises(TimeIsUp), deferred_alarms():
        signal.raise_signal(signal.SIGALRM)


@pytest.mark.usefixtures("alarm")
def test_a_second_alarm_rings_at_once() -> None:
    steps = []

    def work() -> None:
        with deferred_alarms():
            signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGALRM)
            steps.append("never")

    with pytest.raises(TimeIsUp):
        work()
    assert steps == []


def test_an_alarm_that_nobody_hears_is_left_alone() -> None:
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("no alarms here")
    with deferred_alarms():
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


@pytest.mark.usefixtures("alarm", "engine")
def test_an_alarm_ends_a_run_with_the_callers_own_exception() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(TimeIsUp):
        run(Experiment(scheme="tcp-gap", duration_s=1e6))
