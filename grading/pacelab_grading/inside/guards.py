"""Rights that a process can give up by itself, without privileges: system calls (seccomp) and files (Landlock).

With bubblewrap this is the second line of defence, without it the first. Both need Linux; the report says which work.

A process may use the system calls that Python needs to compute, to read its library and to answer over a pipe. All
other calls get EPERM, also those of future kernels. Of `fcntl`, `ioctl` and `prlimit64` only commands that read, or
that concern this process alone, are permitted: no owner of signals, no change of a pipe's size, no change of limits.
Landlock permits reading below some folders, and, if the kernel knows them, forbids truncation, devices, TCP, abstract
sockets and signals to other processes.

Source: seccomp(2), landlock(7), linux/filter.h, linux/landlock.h; the numbers are of each architecture's unistd.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Sequence

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 38, 22, 2
SIGKILL = 9
CAPABILITY_VERSION_3 = 0x2008_0522
LOAD_WORD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER_OFFSET, ARCHITECTURE_OFFSET, ARGUMENTS_OFFSET = 0, 4, 16
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, lseek 8 62, close 3 57, close_range 436 436,
open 2 -, openat 257 56, stat 4 -, lstat 6 -, fstat 5 80, newfstatat 262 79, statx 332 291, access 21 -,
faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, getdents 78 -, getdents64 217 61, getcwd 79 17,
statfs 137 43, fstatfs 138 44, fadvise64 221 223, dup 32 23, dup2 33 -, dup3 292 24,
mmap 9 222, mprotect 10 226, munmap 11 215, mremap 25 216, madvise 28 233, brk 12 214, membarrier 324 283,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, restart_syscall 219 128,
futex 202 98, sched_yield 24 124, sched_getaffinity 204 123, set_robust_list 273 99, rseq 334 293, arch_prctl 158 -,
getpid 39 172, getppid 110 173, gettid 186 178, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177,
getresuid 118 148, getresgid 120 150, getgroups 115 158, getpgrp 111 -, getpgid 121 155, getsid 124 156,
getrlimit 97 163, getrusage 98 165, times 100 153, uname 63 160, sysinfo 99 179, getcpu 309 168,
clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, time 201 -, getrandom 318 278,
exit 60 93, exit_group 231 94
"""
"""Names and numbers on x86_64 and on arm64, which lacks some."""
COMMANDS = (((72, 25), (0, 1, 2, 3, 4, 1030)), ((16, 29), (0x5401, 0x5413, 0x5450, 0x5451)))
"""Calls that are permitted with some commands only. fcntl: F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL,
F_DUPFD_CLOEXEC; ioctl: TCGETS, TIOCGWINSZ (is this a terminal?), FIONCLEX, FIOCLEX."""
PRLIMIT = (302, 261)
CLONE3 = 435
"""Refused as unknown, so that libc uses another call."""

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
ASK_VERSION = 1
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""Version -> number of known rights to files; later ones are moving between folders, truncating, ioctl on devices."""
TCP_SINCE, TCP_RIGHTS = 4, 0b11
SCOPES_SINCE, SCOPES = 6, 0b11
"""Abstract Unix sockets, signals."""
EXECUTE, READ, LIST = 1 << 0, 1 << 2, 1 << 3
READ_FILE = EXECUTE | READ
"""Executing is harmless because execve is refused, and older kernels require it to map a library."""
READ_FOLDER = READ_FILE | LIST


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the grader ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)


def drop_capabilities() -> None:
    """Give up all capabilities permanently. Raises OSError if the kernel refuses."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", CAPABILITY_VERSION_3, 0), 8)
    none = ctypes.create_string_buffer(24)  # two halves, each with three empty sets
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def landlock_version() -> int:
    """Landlock version of the running kernel; 0 if it has none."""
    return max(
        0, int(ctypes.CDLL(None, use_errno=True).syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), ASK_VERSION))
    )


def file_rules(readable: Sequence[str], listable: Sequence[str]) -> int | None:
    """A ruleset that permits only reading below `readable` and listing folders below `listable`, as a descriptor.

    The fork server makes it once for all processes. Returns None if the kernel has no Landlock.
    """
    version = landlock_version()
    if version == 0:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    files = (1 << max(count for since, count in FILE_RIGHTS.items() if since <= version)) - 1
    tcp = TCP_RIGHTS if version >= TCP_SINCE else 0
    scopes = SCOPES if version >= SCOPES_SINCE else 0
    size = 24 if scopes else 16 if tcp else 8  # a kernel refuses fields that it does not know
    handled = ctypes.create_string_buffer(struct.pack("=QQQ", files, tcp, scopes)[:size], size)
    ruleset: int = libc.syscall(LANDLOCK_CREATE, handled, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return None
    for path in readable:
        _allow(libc, ruleset, path, READ_FOLDER)
    for path in listable:
        _allow(libc, ruleset, path, LIST)
    return ruleset


def restrict_files(ruleset: int) -> bool:
    """Obey this ruleset permanently, and close it. Returns False if the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    done = bool(libc.syscall(LANDLOCK_RESTRICT, ruleset, 0) == 0)
    os.close(ruleset)
    return done


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(beneath).st_mode):
        rights &= READ_FILE  # the kernel refuses listing rights for files
    libc.syscall(LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", rights, beneath), 0)
    os.close(beneath)


def refuse_calls() -> bool:
    """Refuse all system calls except `ALLOWED`, permanently. Returns False if this machine cannot do that."""
    machine = os.uname().machine
    if machine not in ARCHITECTURES or struct.calcsize("P") != 8:
        return False
    program = _program(machine)
    code = ctypes.create_string_buffer(b"".join(program), 8 * len(program))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return bool(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filters, 0, 0) == 0)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _program(machine: str) -> list[bytes]:
    """The filter: another architecture kills the process, a listed number passes. The numbers of x32 are not listed."""
    column = list(ARCHITECTURES).index(machine)
    numbers = [entry.split()[1 + column] for entry in ALLOWED.split(",")]
    program = [
        _step(LOAD_WORD, ARCHITECTURE_OFFSET),
        _step(JUMP_EQUAL, ARCHITECTURES[machine], 1, 0),
        _step(RETURN, KILL),
        _step(LOAD_WORD, NUMBER_OFFSET),
        _step(JUMP_EQUAL, CLONE3, 0, 1),
        _step(RETURN, 0x00050000 | errno.ENOSYS),
    ]
    for number in numbers:
        if number != "-":
            program += [_step(JUMP_EQUAL, int(number), 0, 1), _step(RETURN, ALLOW)]
    for calls, allowed in COMMANDS:
        commands = [_step(LOAD_WORD, _argument(1))]
        for command in allowed:
            commands += [_step(JUMP_EQUAL, command, 0, 1), _step(RETURN, ALLOW)]
        commands.append(_step(RETURN, REFUSE))
        program += [_step(JUMP_EQUAL, calls[column], 0, len(commands)), *commands]
    asking = []  # prlimit64(0, which, NULL, old): reads a limit of this process
    for word in (_argument(0), _argument(2), _argument(2) + 4):
        asking += [_step(LOAD_WORD, word), _step(JUMP_EQUAL, 0, 1, 0), _step(RETURN, REFUSE)]
    asking.append(_step(RETURN, ALLOW))
    program += [_step(JUMP_EQUAL, PRLIMIT[column], 0, len(asking)), *asking]
    return [*program, _step(RETURN, REFUSE)]


def _argument(number: int) -> int:
    """The offset of the lower half of an argument; both architectures are little-endian."""
    return ARGUMENTS_OFFSET + 8 * number
