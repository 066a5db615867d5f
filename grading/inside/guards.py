"""What a process can give up by itself, without any right: system calls (seccomp) and files (Landlock).

With bubblewrap these are a second wall; without it they are the wall. Both need Linux; which of them hold is reported.

Refused system calls get EPERM: making processes and executing programs, sockets, signals to anybody, name spaces and
mounts, other processes' memory, sleeping, and parts of the kernel that have had many holes. All else is allowed, since
Python needs much of it; files are Landlock's and the limits' business.

Source: seccomp(2), landlock(7), linux/filter.h; the numbers are those of each architecture's unistd.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_EQUAL, JUMP_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER_OFFSET, ARCHITECTURE_OFFSET = 0, 4
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
X32 = 0x40000000
"""Calls of the x32 personality have this bit; its numbers would slip past the list."""

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
REFUSED = """
socket 41 198, accept 43 202, connect 42 203, bind 49 200, listen 50 201, socketpair 53 199, sendto 44 206,
sendmsg 46 211, clone 56 220, fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, kill 62 129,
tkill 200 130, tgkill 234 131, pidfd_send_signal 424 424, pidfd_open 434 434, pidfd_getfd 438 438,
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, kcmp 312 272, unshare 272 97,
setns 308 268, pivot_root 155 41, chroot 161 51, mount 165 40, umount2 166 39, open_tree 428 428,
move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, swapon 167 224,
reboot 169 142, sethostname 170 161, init_module 175 105, finit_module 313 273, bpf 321 280,
perf_event_open 298 241, userfaultfd 323 282, add_key 248 217, request_key 249 218, keyctl 250 219,
io_setup 206 0, io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, mq_open 240 180,
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_wait 232 -, epoll_pwait 281 22, pause 34 -,
nanosleep 35 101, clock_nanosleep 230 115, alarm 37 -, setitimer 38 103, timer_create 222 107
"""
"""Calls with their numbers on x86_64 and on arm64, which lacks some."""
CLONE3 = 435
"""Refused as unknown, so that libc does not trust it."""

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
ALL_FILE_RIGHTS = (1 << 13) - 1
EXECUTE, READ, LIST = 1 << 0, 1 << 2, 1 << 3
READ_FILE = EXECUTE | READ
"""To execute costs nothing, since execve is refused, and older kernels ask for it to map a library."""
READ_FOLDER = READ_FILE | LIST


def restrict_files(readable: Sequence[str], listable: Sequence[str]) -> bool:
    """Leave this process nothing but reading below `readable` and listing folders below `listable`, for good.

    False where the kernel has no Landlock.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    handled = ctypes.create_string_buffer(struct.pack("=Q", ALL_FILE_RIGHTS), 8)
    ruleset = libc.syscall(LANDLOCK_CREATE, handled, ctypes.c_size_t(8), 0)
    if ruleset < 0:
        return False
    for path in readable:
        _allow(libc, ruleset, path, READ_FOLDER if os.path.isdir(path) else READ_FILE)
    for path in listable:
        _allow(libc, ruleset, path, LIST)
    done = bool(libc.syscall(LANDLOCK_RESTRICT, ruleset, 0) == 0)
    os.close(ruleset)
    return done


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, beneath), 12)
    libc.syscall(LANDLOCK_ADD, ruleset, 1, rule, 0)
    os.close(beneath)


def refuse_calls() -> bool:
    """Refuse the calls of `REFUSED` to this process for good; False where that cannot be had."""
    machine = platform.machine()
    if machine not in ARCHITECTURES or struct.calcsize("P") != 8:
        return False
    column = list(ARCHITECTURES).index(machine)
    numbers = [entry.split()[1 + column] for entry in REFUSED.split(",")]
    program = _program(ARCHITECTURES[machine], [int(number) for number in numbers if number != "-"])
    code = ctypes.create_string_buffer(b"".join(program), 8 * len(program))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return bool(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filters, 0, 0) == 0)


def _program(architecture: int, refused: Sequence[int]) -> list[bytes]:
    """The filter: of another architecture or x32: the end; in the list: EPERM; all else passes."""

    def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_true, if_false, value)

    program = [
        step(LOAD_WORD, ARCHITECTURE_OFFSET),
        step(JUMP_EQUAL, architecture, 1, 0),
        step(RETURN, KILL),
        step(LOAD_WORD, NUMBER_OFFSET),
        step(JUMP_AT_LEAST, X32, 0, 1),
        step(RETURN, KILL),
        step(JUMP_EQUAL, CLONE3, 0, 1),
        step(RETURN, 0x00050000 | errno.ENOSYS),
    ]
    for number in refused:
        program += [step(JUMP_EQUAL, number, 0, 1), step(RETURN, REFUSE)]
    return [*program, step(RETURN, ALLOW)]
