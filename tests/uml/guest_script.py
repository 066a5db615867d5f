"""Runs a script in a guest with a counted clock, with the kernel's radios and mediumd, but without PaceLab's hosts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pacelab.emulation.programs import find_mediumd
from pacelab.emulation.where.confine import NOBODY, confine, may_be_nobody
from pacelab.emulation.where.cpu import Core
from pacelab.emulation.where.files import find_files
from pacelab.emulation.where.memory import exec_folder
from pacelab.emulation.where.uml import EPOCH_NS
from pacelab.emulation.where.work_folder import KERNEL, work_folder

MEMORY_BYTES = 256 << 20
LIMIT_S = 300
CUSTOM_WORLD = 5
"""HWSIM_REGTEST_CUSTOM_WORLD of the module: its own regulatory rules for all radios."""
FREE_CHANNELS = (f"mac80211_hwsim.regtest={CUSTOM_WORLD}",)
VIRTUAL_TIME = ("time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}")
FOUND, SETTINGS = "found.json", "settings.json"


def run_script(
    script: Path,
    radios: int,
    *,
    settings: object = None,
    limit_s: float = LIMIT_S,
    files: tuple[str, ...] = (),
    programs: tuple[Path, ...] = (),
    kernel: tuple[str, ...] = VIRTUAL_TIME,
    seed: int = 1,
) -> dict[str, Any]:
    """Run `script`, which has a function run_job(folder), in a guest.

    It finds `settings` as JSON in the folder, and writes its findings there. Returns the findings, and the bytes of
    further `files` of the folder by name. The guest has `programs` in /code. `kernel` are further arguments of its
    kernel: without VIRTUAL_TIME its clock is the computer's, and with FREE_CHANNELS its radios may send at 5.2 GHz, at
    most 40 MHz wide.
    """
    with work_folder() as work, Core() as core:
        _lay_out(work, script, settings, programs)
        with (work / "console").open("wb") as console:
            subprocess.run(
                [str(work / KERNEL), *_command_line(radios, kernel, seed)],
                cwd=work,
                env={"PATH": "/usr/bin:/bin", "HOME": "/proc/self/cwd", "TMPDIR": exec_folder(MEMORY_BYTES)},
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: confine(core.number, {}),
                timeout=limit_s,
                check=False,
            )
        result = work / "job" / FOUND
        if not result.exists():
            raise AssertionError((work / "console").read_text(errors="replace")[-2000:])
        found: dict[str, Any] = json.loads(result.read_text())
        found.update({name: (work / "job" / name).read_bytes() for name in files if (work / "job" / name).exists()})
    if "error" in found:
        raise AssertionError(found["error"])
    return found


def _command_line(radios: int, kernel: tuple[str, ...], seed: int) -> list[str]:
    return [
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/proc/self/cwd/root/.", "ro", "init=/usr/sbin/init"),
        *(f"mem={MEMORY_BYTES >> 20}M", "con=null", "con0=null,fd:1", "quiet", "norandmaps"),
        f"mac80211_hwsim.radios={radios}",
        *kernel,
        *("random.trust_cpu=on", f"um_seed={seed}", "PYTHONHASHSEED=1"),
    ]


def _lay_out(work: Path, script: Path, settings: object, programs: tuple[Path, ...]) -> None:
    """The kernel's working folder: like that of a run, but the guest's first process calls the script."""
    guest = find_files()
    (work / "root").symlink_to(guest.tree)
    shutil.copyfile(guest.kernel, work / KERNEL)
    (work / KERNEL).chmod(0o755)
    place = work / "code" / "pacelab" / "emulation" / "where"
    place.mkdir(parents=True)
    for folder in (place, *list(place.parents)[:2]):
        (folder / "__init__.py").touch()
    shutil.copyfile(script, place / "guest.py")
    for name, program in {"mediumd": find_mediumd(), **{path.name: path for path in programs}}.items():
        shutil.copyfile(program, work / "code" / name)
        (work / "code" / name).chmod(0o755)
    (work / "job").mkdir()
    (work / "job" / SETTINGS).write_text(json.dumps(settings))
    if may_be_nobody():
        for path in (work, *work.rglob("*")):
            if not path.is_symlink():
                os.chown(path, NOBODY, NOBODY)


def blocks(file: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body of each block of a pcapng file."""
    while file:
        kind, length = (int.from_bytes(file[at : at + 4], "little") for at in (0, 4))
        yield kind, file[8 : length - 4]
        file = file[length:]
