"""What wheels for all platforms hold, read by LIEF: also those that nothing here can run (`make wheels-test`)."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lief
import pytest

ROOT = Path(__file__).parents[2]

MACHINES = {
    "linux-x86_64": lief.ELF.ARCH.X86_64,
    "linux-aarch64": lief.ELF.ARCH.AARCH64,
    "macos-x86_64": lief.MachO.Header.CPU_TYPE.X86_64,
    "macos-arm64": lief.MachO.Header.CPU_TYPE.ARM64,
    "windows-amd64": lief.PE.Header.MACHINE_TYPES.AMD64,
}
GLIBC = {"libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"}
GLIBC |= {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
WINDOWS = re.compile(
    r"(kernel32|ntdll|bcryptprimitives|msvcrt|userenv|ws2_32|api-ms-win-[a-z0-9-]+)\.dll", re.IGNORECASE
)
"""What each Windows 10 has."""
PRIVATE = r"/(?:root|home|Users|work|tmp|builds?)/[\w.-]+"


class Wheel:
    """A wheel's files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.files = {info.filename: archive.read(info) for info in archive.infolist()}
            self.modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}

    def only(self, pattern: str) -> str:
        """Name of the one file that matches."""
        (name,) = (name for name in self.files if re.fullmatch(pattern, name))
        return name


@pytest.fixture(scope="module")
def wheel(target: str, wheel_for: Callable[[str], Path]) -> Wheel:
    return Wheel(wheel_for(target))


@pytest.fixture(scope="module")
def extension(wheel: Wheel) -> Any:
    parsed = lief.parse(list(wheel.files[wheel.only(r"pacelab/_medium\..*")]))
    assert parsed is not None
    return parsed


def machine(binary: Any) -> Any:
    if isinstance(binary, lief.ELF.Binary):
        return binary.header.machine_type
    return binary.header.cpu_type if isinstance(binary, lief.MachO.Binary) else binary.header.machine


def test_wheel_name_tag_and_record_agree(wheel: Wheel) -> None:
    *_, python, abi, platform = wheel.path.stem.split("-")
    about = wheel.files[wheel.only(r"[^/]+\.dist-info/WHEEL")].decode()
    assert re.findall(r"^Tag: (.*)$", about, re.MULTILINE) == [f"{python}-{abi}-{platform}"]
    assert (python, abi) == ("cp311", "abi3")
    assert "Root-Is-Purelib: false" in about
    record = wheel.only(r"[^/]+\.dist-info/RECORD")
    rows = {name: digest for name, digest, _ in csv.reader(io.StringIO(wheel.files[record].decode()))}
    assert rows.pop(record) == ""
    assert rows == {
        name: "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        for name, content in wheel.files.items()
        if name != record
    }


def test_wheel_has_one_extension_under_the_name_that_its_python_looks_for(wheel: Wheel, target: str) -> None:
    suffix = ".pyd" if target.startswith("windows") else ".abi3.so"
    compiled = [name for name in wheel.files if re.search(r"\.(so|pyd|dylib|dll|exe)$", name)]
    assert compiled == [f"pacelab/_medium{suffix}"]


def test_wheel_extension_is_of_that_machine(extension: Any, target: str) -> None:
    assert machine(extension) == MACHINES[target]


def test_wheel_extension_offers_its_module(extension: Any, target: str) -> None:
    """And nothing else on Linux, where all libraries share their names. Elsewhere more of them do no harm."""
    if isinstance(extension, lief.PE.Binary):
        names = {entry.name for entry in extension.get_export().entries}
    else:
        names = {symbol.name for symbol in extension.exported_symbols}
    assert ("_" if target.startswith("macos") else "") + "PyInit__medium" in names
    if target.startswith("linux"):
        assert names - {"_init", "_fini"} == {"PyInit__medium"}


def test_wheel_programs_are_linuxs_alone(wheel: Wheel, target: str) -> None:
    programs = {Path(name).name: name for name in wheel.files if ".data/scripts/" in name}
    if not target.startswith("linux"):
        assert programs == {}
        return
    assert sorted(programs) == ["mediumd", "wmediumd"]
    assert all(wheel.modes[name] & 0o111 == 0o111 for name in programs.values())
    assert wheel.files[programs["wmediumd"]].startswith(b"#!/bin/sh\n")
    assert machine(lief.parse(list(wheel.files[programs["mediumd"]]))) == MACHINES[target]


@pytest.mark.parametrize("target", ["linux-x86_64", "linux-aarch64"], indirect=True)
def test_wheel_needs_no_newer_glibc_than_its_name_says(wheel: Wheel) -> None:
    named = re.search(r"manylinux_(\d+)_(\d+)_", wheel.path.name)
    assert named
    least = (int(named[1]), int(named[2]))
    for name in (wheel.only(r"pacelab/_medium\..*"), wheel.only(r".*/scripts/mediumd")):
        binary = lief.ELF.parse(list(wheel.files[name]))
        assert binary is not None
        assert set(binary.libraries) <= GLIBC
        wanted = [
            version.name for need in binary.symbols_version_requirement for version in need.get_auxiliary_symbols()
        ]
        numbers = [tuple(map(int, name.removeprefix("GLIBC_").split("."))) for name in wanted]
        assert numbers
        assert max(numbers)[:2] <= least, f"{name}: {wanted}"


@pytest.mark.parametrize("target", ["macos-x86_64", "macos-arm64"], indirect=True)
def test_wheel_runs_on_the_macos_of_its_name(wheel: Wheel, extension: Any) -> None:
    named = re.search(r"macosx_(\d+)_(\d+)_", wheel.path.name)
    assert named
    version = extension.build_version.minos if extension.has_build_version else extension.version_min.version
    assert tuple(version[:2]) <= (int(named[1]), int(named[2]))
    assert all(
        library.name.startswith("/usr/lib/") for library in extension.libraries if library.command.name != "ID_DYLIB"
    )
    python = [symbol.name for symbol in extension.imported_symbols if symbol.name.startswith("_Py")]
    assert "_PyModule_Create2" in python or "_PyModuleDef_Init" in python


@pytest.mark.parametrize("target", ["macos-arm64"], indirect=True)
def test_wheel_for_apples_processors_is_signed(wheel: Wheel, extension: Any) -> None:
    """The kernel ends a process that touches a page whose hash is not the signature's; ad hoc is enough."""
    content = wheel.files["pacelab/_medium.abi3.so"]
    signature = content[extension.code_signature.data_offset :][: extension.code_signature.data_size]
    magic, _, count = struct.unpack_from(">III", signature)
    assert magic == 0xFADE0CC0
    index = dict(struct.unpack_from(">II", signature, 12 + 8 * place) for place in range(count))
    directory = signature[index[0] :]
    magic, _, _, _, hashes, _, _, slots, limit, size, kind, _, page = struct.unpack_from(">IIIIIIIIIBBBB", directory)
    assert magic == 0xFADE0C02
    assert (kind, size) == (2, 32)  # SHA-256
    assert limit == extension.code_signature.data_offset
    pages = [content[start : min(start + (1 << page), limit)] for start in range(0, limit, 1 << page)]
    assert len(pages) == slots
    assert directory[hashes : hashes + size * slots] == b"".join(hashlib.sha256(one).digest() for one in pages)


@pytest.mark.parametrize("target", ["windows-amd64"], indirect=True)
def test_wheel_for_windows_takes_the_stable_interface_and_what_windows_has(extension: Any) -> None:
    assert extension.header.has_characteristic(lief.PE.Header.CHARACTERISTICS.DLL)
    assert extension.optional_header.addressof_entrypoint
    libraries = {item.name for item in extension.imports}
    assert "python3.dll" in libraries
    assert [name for name in libraries - {"python3.dll"} if not WINDOWS.fullmatch(name)] == []


def test_wheel_has_the_live_demonstrations(wheel: Wheel) -> None:
    engine = wheel.files["pacelab/demo/static/engine.wasm"]
    assert engine[:8] == b"\0asm\1\0\0\0"
    assert engine == (ROOT / "pacelab/demo/static/engine.wasm").read_bytes()


def test_wheel_has_all_of_the_source_and_no_other(wheel: Wheel) -> None:
    source = {
        (Path(folder) / name).relative_to(ROOT).as_posix()
        for folder, _, names in os.walk(ROOT / "pacelab", followlinks=True)
        for name in names
        if name.endswith(".py")
    }
    packed = {name for name in wheel.files if name.endswith(".py")}
    assert packed == source
    assert [name for name in packed if wheel.files[name] != (ROOT / name).read_bytes()] == []


def test_wheel_names_no_folder_of_who_compiled_it(wheel: Wheel) -> None:
    own = [re.escape(str(place)) for place in (ROOT, Path.home()) if len(place.parts) > 1]
    places = re.compile(PRIVATE + "".join(f"|{place}" for place in own))
    named = {
        name: found.group()
        for name, content in wheel.files.items()
        if not name.endswith((".py", ".txt", ".json")) and (found := places.search(content.decode("latin-1")))
    }
    assert named == {}


def test_wheels_differ_in_what_is_compiled_alone(wheel: Wheel, wheel_for: Callable[[str], Path]) -> None:
    def plain(files: dict[str, bytes]) -> dict[str, bytes]:
        own = re.compile(r"pacelab/_medium\..*|[^/]+\.data/scripts/.*|[^/]+\.dist-info/(WHEEL|RECORD)")
        return {name: content for name, content in files.items() if not own.fullmatch(name)}

    assert plain(wheel.files) == plain(Wheel(wheel_for("linux-x86_64")).files)
