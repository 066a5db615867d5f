"""What can go wrong; one line each, with the command that mends it."""

from __future__ import annotations


class ControllerError(Exception):
    """Something was attempted and did not work; `exit_code` as the command line has it."""

    exit_code = 3


class InputError(ControllerError):
    """What was given is not allowed."""

    exit_code = 2
