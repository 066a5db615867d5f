"""What wheels for all platforms hold, read by LIEF, and those for Linux as users install them (`make wheels-test`)."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import platform
import re
import runpy
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lief
import pytest

# The wheels under dist/ that `make wheels` made.

ROOT = Path(__file__).parents[2]


TARGETS = runpy.run_path(str(ROOT / ".ci" / "wheels.py"), run_name="wheels")["TARGETS"]


@pytest.fixture(scope="session")
def wheel_for() -> Callable[[str], Path]:
    """The newest wheel for a name of the builder's targets; skips where there is none."""

    def find(name: str) -> Path:
        platform = TARGETS[name].platform
        found = sorted((ROOT / "dist").glob(f"pacelab-*-{platform}.whl"), key=lambda path: path.stat().st_mtime)
        if not found:
            pytest.skip(f"no wheel for {name}: make wheels WHEELS={name}")
        return found[-1]

    return find


@pytest.fixture(scope="session", params=sorted(TARGETS))
def target(request: pytest.FixtureRequest) -> str:
    """Each platform's name in turn."""
    return str(request.param)


# What wheels for all platforms hold, read by LIEF: also those that nothing here can run (`make wheels-test`).

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


# Wheels for Linux, installed as a user would, away from the source and without a compiler (`make wheels-test`).
#
# The one for arm64 runs in QEMU's emulation, on Debian's Python for arm64: the same configuration and seed must give
# the same bytes as on x86-64.

REQUIREMENTS = ROOT / "requirements.txt"
DEBIAN = "bookworm"
DEBIANS_PYTHON = "3.11"
MANYLINUX = [f"manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)]
"""What Debian's C library of that release can run."""

RUNS = {
    "chain": "chain --seconds 10",
    "gateway": "two-gateways --scheme tcp-gap --routing aodv --seconds 5",
    "errors": "indoor --radio sinr --phy 802.11g --rate 6 --seconds 3",
    "layout": "random --radio sinr --seconds 3",
    "calls": "string --hops 2 --voice 2 --scheme vagp --seconds 5",
    "control": "chain --hops 3 --cc cubic --scheme lred --seconds 3",
}
"""What goes through the mathematical functions, through Python's hooks, and through drawn layouts."""

Pacelab = Callable[..., subprocess.CompletedProcess[str]]


def run(command: list[str | Path], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it with nothing of the source tree, of a compiler or of this Python in sight."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", **variables}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}: {ran.stderr}"
    return ran


def pip(*words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *words], check=True)


@pytest.fixture(scope="module")
def native(wheel_for: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Pacelab:
    """`pacelab` of this machine's wheel."""
    wheel, place = wheel_for(f"linux-{platform.machine()}"), tmp_path_factory.mktemp("native")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip("--python", place / "bin/python", "install", wheel)  # with the newest of all that it asks for, as README says
    return lambda words, folder: run([place / "bin/pacelab", *words.split()], folder, PATH=str(place / "bin"))


@pytest.fixture(scope="module")
def debian() -> Path:
    """The files of a Debian for arm64 with Python, kept under build/; nothing of it has run."""
    if platform.machine() != "x86_64":
        pytest.skip("another processor is emulated on x86-64 alone")
    for tool, package in (("qemu-aarch64-static", "qemu-user-static"), ("mmdebstrap", "mmdebstrap arch-test")):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} here: apt install {package}")
    place = ROOT / "build" / f"arm64-{DEBIAN}"
    if not place.exists():
        unfinished = place.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        make = [
            "mmdebstrap",
            "-q",
            "--variant=extract",
            "--skip=check/qemu",
            "--arch=arm64",
            "--include=python3,libstdc++6",
        ]
        subprocess.run([*make, DEBIAN, unfinished], check=True)
        unfinished.rename(place)
    return place


@pytest.fixture(scope="module")
def emulated(debian: Path, wheel_for: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Pacelab:
    """`pacelab` of the wheel for arm64, on an emulated processor."""
    wheel, place = wheel_for("linux-aarch64"), tmp_path_factory.mktemp("arm64")
    there = ["--python-version", DEBIANS_PYTHON, "--only-binary=:all:", "--target", place]
    there += [word for name in MANYLINUX for word in ("--platform", name)]
    pip("install", *there, "--require-hashes", "-r", REQUIREMENTS)
    pip("install", *there, "--no-deps", "--upgrade", wheel)
    python = ["qemu-aarch64-static", "-L", debian, debian / "usr/bin" / f"python{DEBIANS_PYTHON}"]
    return lambda words, folder: run(
        [*python, "-c", "import sys; from pacelab.cli.main import main; sys.exit(main())", *words.split()],
        folder,
        PYTHONPATH=str(place),
    )


def features(pacelab: Pacelab, folder: Path) -> dict[str, dict[str, object]]:
    """What `pacelab doctor` says."""
    return {feature["name"]: feature for feature in json.loads(pacelab("doctor --json", folder).stdout)["features"]}


def test_wheel_here_has_all_that_the_simulator_needs(native: Pacelab, tmp_path: Path) -> None:
    found = features(native, tmp_path)
    assert all(feature["present"] for feature in found.values() if feature["required"])
    assert found["live demos"]["present"]


def test_wheel_here_does_the_main_job(native: Pacelab, tmp_path: Path) -> None:
    ran = native("lab", tmp_path)
    assert "28 networks, " in ran.stderr
    assert "tcp-gap" in ran.stdout
    made = {path.name: path.stat().st_size for path in (tmp_path / "runs" / "lab-1").iterdir()}
    assert set(made) == {"compare.json", "goodput.png", "goodput.svg", "host.json", "table.csv"}
    rows = json.loads((tmp_path / "runs/lab-1/compare.json").read_text("utf-8"))["rows"]
    assert len(rows) == 28 * 4
    assert all(row["goodput_bps"]["mean"] > 0 for row in rows)


def test_wheel_here_exports_a_live_demonstration(native: Pacelab, tmp_path: Path) -> None:
    native("demo hidden --export hidden.html", tmp_path)
    assert (tmp_path / "hidden.html").stat().st_size > 500_000


def test_wheel_for_arm64_has_all_that_the_simulator_needs(emulated: Pacelab, tmp_path: Path) -> None:
    found = features(emulated, tmp_path)
    assert str(found["python"]["detail"]).endswith("on Linux aarch64")
    assert all(feature["present"] for feature in found.values() if feature["required"])
    assert found["live demos"]["present"]


@pytest.mark.parametrize("name", RUNS)
def test_wheel_for_arm64_gives_the_same_bytes(native: Pacelab, emulated: Pacelab, tmp_path: Path, name: str) -> None:
    for pacelab, out in ((native, "here"), (emulated, "there")):
        pacelab(f"run {RUNS[name]} --quiet --out {out} --pcap {out}.pcapng", tmp_path)
    here, there = tmp_path / "here", tmp_path / "there"
    names = sorted(path.name for path in here.iterdir())
    assert names == sorted(path.name for path in there.iterdir())
    differ = [
        name for name in names if name != "host.json" and (here / name).read_bytes() != (there / name).read_bytes()
    ]
    assert differ == []
    assert here.with_suffix(".pcapng").read_bytes() == there.with_suffix(".pcapng").read_bytes()
    machines = [json.loads((place / "host.json").read_text("utf-8"))["machine"] for place in (here, there)]
    assert machines == ["x86_64", "aarch64"]


def test_wheel_for_arm64_compares_and_draws(native: Pacelab, emulated: Pacelab, tmp_path: Path) -> None:
    for pacelab, out in ((native, "here"), (emulated, "there")):
        pacelab(f"compare chain --hops 1..2 --seeds 2 --seconds 2 --jobs 1 --quiet --out {out}", tmp_path)
    for name in ("compare.json", "table.csv"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes(), name
    assert (tmp_path / "there" / "goodput.png").read_bytes().startswith(b"\x89PNG")


def test_wheel_for_arm64_has_a_mediumd_that_starts(
    debian: Path, wheel_for: Callable[[str], Path], tmp_path: Path
) -> None:
    shutil.unpack_archive(wheel_for("linux-aarch64"), tmp_path, "zip")
    (program,) = tmp_path.glob("*.data/scripts/mediumd")
    program.chmod(0o755)
    said = run(["qemu-aarch64-static", "-L", debian, program, "--help"], tmp_path)
    assert said.stdout.startswith("usage: mediumd ")
