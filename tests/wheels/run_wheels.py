"""The content of wheels for all platforms, read by LIEF; Linux wheels as users install them (`make wheels-test`)."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import json
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
DIST = ROOT / "dist"

TARGETS = runpy.run_path(str(ROOT / ".ci" / "wheels.py"), run_name="wheels")["TARGETS"]
lief.disable_leak_warning()
LINUX = sorted(name for name in TARGETS if name.startswith("linux-"))
ENGINE, MEDIUMD = "pacelab_medium", "pacelab_wmediumd"
NATIVE = sorted(name for name in TARGETS if name != "browser")
SOURCES = {
    "pacelab": ("pacelab", "pacer/pacelab_pacer", "topologies/pacelab_topologies"),
    "pacelab_controller": ("controller/pacelab_controller",),
    "pacelab_grading": ("grading/pacelab_grading",),
    "pacelab_labs": ("labs/pacelab_labs",),
}
"""Distribution without compiled files -> its packages' folders."""
SHARED = {"pacelab_labs": {"labs/ipython_kernel_config.py": "etc/ipython/ipython_kernel_config.py"}}
"""Distribution -> its files that pip installs into the environment outside the packages, and where."""
GZIPPED = re.compile(r'"(H4sI[A-Za-z0-9+/=]+)"')
"""A string of gzip in base64."""
NOT_PACKED = re.compile(r".*\.pyc|.*\.so|made\.txt|ruff\.toml")
"""Files in those folders that belong to this machine or to the source tree."""
ALL = [
    *((ENGINE, name) for name in sorted(TARGETS)),
    *((MEDIUMD, name) for name in LINUX),
    *((distribution, "any") for distribution in SOURCES),
]
"""Every wheel: its distribution and platform."""


def find_wheel(distribution: str, platform: str) -> Path:
    """The newest wheel of a distribution for one of the builder's targets, or for "any". Skips if there is none."""
    tag = "any" if platform == "any" else TARGETS[platform].platform
    if distribution == MEDIUMD:
        tag = f"musllinux_*_{TARGETS[platform].machine}"
    found = sorted(DIST.glob(f"{distribution}-*{tag}.whl"), key=lambda path: path.stat().st_mtime)
    if not found:
        pytest.skip(f"no wheel of {distribution} for {platform}: make wheels WHEELS={platform}")
    return found[-1]


# The content of wheels for all platforms, read by LIEF, even of wheels that cannot run here (`make wheels-test`).

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
"""The libraries that each Windows 10 has."""
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

    def data_folder(self) -> str:
        """Where the files are that pip installs outside the packages."""
        return self.only(r"[^/]+\.dist-info/METADATA").removesuffix(".dist-info/METADATA") + ".data"


@pytest.fixture(scope="module", params=ALL, ids="-".join)
def wheel(request: pytest.FixtureRequest) -> Wheel:
    """Each wheel in turn."""
    return Wheel(find_wheel(*request.param))


@pytest.fixture(scope="module", params=NATIVE)
def target(request: pytest.FixtureRequest) -> str:
    """Each platform's name in turn, without the browser, whose WebAssembly LIEF does not read."""
    return str(request.param)


@pytest.fixture(scope="module")
def engine(target: str) -> Wheel:
    """The engine's wheel for the platform."""
    return Wheel(find_wheel(ENGINE, target))


@pytest.fixture(scope="module")
def extension(engine: Wheel) -> Any:
    """The engine itself, parsed."""
    parsed = lief.parse(list(engine.files[engine.only(r"pacelab_medium/pacelab_medium\..*")]))
    assert parsed is not None
    return parsed


@pytest.fixture(scope="module", params=LINUX)
def mediumd(request: pytest.FixtureRequest) -> tuple[Wheel, str]:
    """mediumd's wheel for each Linux, and the platform's name."""
    return Wheel(find_wheel(MEDIUMD, request.param)), request.param


def machine(binary: Any) -> Any:
    if isinstance(binary, lief.ELF.Binary):
        return binary.header.machine_type
    return binary.header.cpu_type if isinstance(binary, lief.MachO.Binary) else binary.header.machine


def test_wheel_name_tag_and_record_agree(wheel: Wheel) -> None:
    name, _, python, abi, platform = wheel.path.stem.split("-")
    about = wheel.files[wheel.only(r"[^/]+\.dist-info/WHEEL")].decode()
    tags = [f"{python}-{abi}-{one}" for one in platform.split(".")]
    assert sorted(re.findall(r"^Tag: (.*)$", about, re.MULTILINE)) == sorted(tags)
    compiled = {ENGINE: ("cp311", "abi3"), MEDIUMD: ("py3", "none")}
    assert (python, abi) == compiled.get(name, ("py3", "none"))
    assert f"Root-Is-Purelib: {str(name not in compiled).lower()}" in about
    record = wheel.only(r"[^/]+\.dist-info/RECORD")
    rows = {name: digest for name, digest, _ in csv.reader(io.StringIO(wheel.files[record].decode()))}
    assert rows.pop(record) == ""
    assert rows == {
        name: "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        for name, content in wheel.files.items()
        if name != record
    }


def test_wheel_names_no_folder_of_who_compiled_it(wheel: Wheel) -> None:
    own = [re.escape(str(place)) for place in (ROOT, Path.home()) if len(place.parts) > 1]
    places = re.compile(PRIVATE + "".join(f"|{place}" for place in own))
    named = {
        name: found.group()
        for name, content in wheel.files.items()
        if not name.endswith((".py", ".txt")) and (found := places.search(content.decode("latin-1")))
    }
    assert named == {}


def test_engine_has_the_name_that_its_python_looks_for(engine: Wheel, target: str) -> None:
    suffix = ".pyd" if target.startswith("windows") else ".abi3.so"
    compiled = [name for name in engine.files if re.search(r"\.(so|pyd|dylib|dll|exe)$", name)]
    assert compiled == [f"pacelab_medium/pacelab_medium{suffix}"]


def test_engine_is_of_that_machine(extension: Any, target: str) -> None:
    assert machine(extension) == MACHINES[target]


def test_engine_offers_its_module(extension: Any, target: str) -> None:
    """On Linux it exports nothing else: all libraries share their names there. Elsewhere more names do no harm."""
    if isinstance(extension, lief.PE.Binary):
        names = {entry.name for entry in extension.get_export().entries}
    else:
        names = {symbol.name for symbol in extension.exported_symbols}
    assert ("_" if target.startswith("macos") else "") + "PyInit_pacelab_medium" in names
    if target.startswith("linux"):
        assert names - {"_init", "_fini"} == {"PyInit_pacelab_medium"}


def test_engines_differ_in_what_is_compiled_alone(engine: Wheel) -> None:
    def plain(files: dict[str, bytes]) -> dict[str, bytes]:
        compiled = re.compile(r"pacelab_medium/pacelab_medium\..*|[^/]+\.dist-info/(WHEEL|RECORD)")
        return {name: content for name, content in files.items() if not compiled.fullmatch(name)}

    assert plain(engine.files) == plain(Wheel(find_wheel(ENGINE, "linux-x86_64")).files)


def test_engine_for_browsers_is_a_side_module_of_webassembly() -> None:
    """Pyodide loads what begins with the section dylink.0 and exports the module's entry."""
    wheel = Wheel(find_wheel(ENGINE, "browser"))
    assert wheel.path.name.endswith("-cp311-abi3-pyemscripten_2026_0_wasm32.whl")
    content = wheel.files["pacelab_medium/pacelab_medium.abi3.so"]
    assert content.startswith(b"\0asm\1\0\0\0")
    assert b"dylink.0" in content[:32]
    assert b"PyInit_pacelab_medium\0" in content  # an export: its name, then 0 for a function


def test_mediumd_is_installed_under_both_names(mediumd: tuple[Wheel, str]) -> None:
    wheel, target = mediumd
    programs = {Path(name).name: name for name in wheel.files if ".data/scripts/" in name}
    assert sorted(programs) == ["mediumd", "wmediumd"]
    assert all(wheel.modes[name] & 0o111 == 0o111 for name in programs.values())
    assert wheel.files[programs["wmediumd"]].startswith(b"#!/bin/sh\n")
    assert machine(lief.parse(list(wheel.files[programs["mediumd"]]))) == MACHINES[target]


def test_mediumd_needs_no_library_and_runs_beside_any_python(mediumd: tuple[Wheel, str], tmp_path: Path) -> None:
    wheel, target = mediumd
    binary = lief.ELF.parse(list(wheel.files[wheel.only(r".*/scripts/mediumd")]))
    assert binary is not None
    assert (list(binary.libraries), binary.has_interpreter) == ([], False)
    for kind in ("manylinux", "musllinux"):
        assert re.search(rf"-py3-none-.*{kind}[\w.]*_{TARGETS[target].machine}[.\w]*\.whl$", wheel.path.name)
    for python in ("3.8", "3.10", "3.13"):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-index", "--no-deps", "--dest", tmp_path]
        command += ["--only-binary", ":all:", "--python-version", python]
        command += ["--platform", f"manylinux2014_{TARGETS[target].machine}", str(wheel.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (python, done.stderr)


@pytest.mark.parametrize("target", LINUX, indirect=True)
def test_linux_wheel_needs_no_newer_glibc_than_that_of_its_name(engine: Wheel) -> None:
    named = re.search(r"manylinux_(\d+)_(\d+)_", engine.path.name)
    assert named
    least = (int(named[1]), int(named[2]))
    binary = lief.ELF.parse(list(engine.files[engine.only(r"pacelab_medium/pacelab_medium\..*")]))
    assert binary is not None
    assert set(binary.libraries) <= GLIBC
    wanted = [version.name for need in binary.symbols_version_requirement for version in need.get_auxiliary_symbols()]
    numbers = [tuple(map(int, name.removeprefix("GLIBC_").split("."))) for name in wanted]
    assert numbers
    assert max(numbers)[:2] <= least, wanted


@pytest.mark.parametrize("target", ["macos-x86_64", "macos-arm64"], indirect=True)
def test_engine_runs_on_the_macos_of_its_name(engine: Wheel, extension: Any) -> None:
    named = re.search(r"macosx_(\d+)_(\d+)_", engine.path.name)
    assert named
    version = extension.build_version.minos if extension.has_build_version else extension.version_min.version
    assert tuple(version[:2]) <= (int(named[1]), int(named[2]))
    assert all(
        library.name.startswith("/usr/lib/") for library in extension.libraries if library.command.name != "ID_DYLIB"
    )
    python = [symbol.name for symbol in extension.imported_symbols if symbol.name.startswith("_Py")]
    assert "_PyModule_Create2" in python or "_PyModuleDef_Init" in python


@pytest.mark.parametrize("target", ["macos-arm64"], indirect=True)
def test_engine_for_apples_processors_is_signed(engine: Wheel, extension: Any) -> None:
    """The kernel ends a process that touches a page whose hash is not the signature's; ad hoc is enough."""
    content = engine.files["pacelab_medium/pacelab_medium.abi3.so"]
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
def test_engine_for_windows_takes_the_stable_interface_and_what_windows_has(extension: Any) -> None:
    assert extension.header.has_characteristic(lief.PE.Header.CHARACTERISTICS.DLL)
    assert extension.optional_header.addressof_entrypoint
    libraries = {item.name for item in extension.imports}
    assert "python3.dll" in libraries
    assert [name for name in libraries - {"python3.dll"} if not WINDOWS.fullmatch(name)] == []


@pytest.mark.parametrize("distribution", SOURCES)
def test_pure_wheel_has_all_of_the_source_and_no_other(distribution: str) -> None:
    source = {}
    for folder in SOURCES[distribution]:
        package = ROOT / folder
        for path in package.rglob("*"):
            if path.is_file() and ".ruff_cache" not in path.parts and not NOT_PACKED.fullmatch(path.name):
                source[path.relative_to(package.parent).as_posix()] = path.read_bytes()
    wheel = Wheel(find_wheel(distribution, "any"))
    for file, place in SHARED.get(distribution, {}).items():
        source[f"{wheel.data_folder()}/data/{place}"] = (ROOT / file).read_bytes()
    packed = {name: content for name, content in wheel.files.items() if ".dist-info/" not in name}
    assert packed.keys() == source.keys()
    assert [name for name in packed if packed[name] != source[name]] == []


def test_core_has_the_live_demonstrations() -> None:
    engine = Wheel(find_wheel("pacelab", "any")).files["pacelab/demo/static/engine.wasm"]
    assert engine[:8] == b"\0asm\1\0\0\0"


# Wheels for Linux, installed as a user would, away from the source and without a compiler (`make wheels-test`).
#
# The one for arm64 runs in QEMU's emulation, on Debian's Python for arm64: the same configuration and seed must give
# the same bytes as on x86-64.

REQUIREMENTS = ROOT / "requirements.txt"
DEBIAN = "bookworm"
DEBIANS_PYTHON = "3.11"
MANYLINUX = [f"manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)]
"""The platform tags that this release's C library supports."""

RUNS = {
    "chain": "chain --seconds 10",
    "gateway": "two-gateways --scheme tcp-gap --routing aodv --seconds 5",
    "errors": "indoor --radio sinr --phy 802.11g --rate 6 --seconds 3",
    "layout": "random --radio sinr --seconds 3",
    "calls": "string --hops 2 --voice 2 --scheme vagp --seconds 5",
    "control": "chain --hops 3 --cc cubic --scheme lred --seconds 3",
}
"""Runs that use the mathematical functions, hooks in Python, and random layouts."""

Pacelab = Callable[..., subprocess.CompletedProcess[str]]


def run(command: list[str | Path], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it with nothing of the source tree, of a compiler or of this Python in sight."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", **variables}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}: {ran.stderr}"
    return ran


def pip(*words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *words], check=True)


def installed(place: Path, *requirements: str) -> Path:
    """The programs of a new environment with these distributions, and the newest version of all that they require."""
    find_wheel(ENGINE, f"linux-{platform.machine()}")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip("--python", place / "bin/python", "install", "--find-links", DIST, *requirements)
    return place / "bin"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Pacelab:
    """`pacelab` of the core's wheels for this machine, installed as README says."""
    programs = installed(tmp_path_factory.mktemp("native"), "pacelab[figures]")
    return lambda words, folder: run([programs / "pacelab", *words.split()], folder, PATH=str(programs))


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has labs and autograder, without JupyterLab, on top of the core."""
    return installed(tmp_path_factory.mktemp("student"), "pacelab", "pacelab-grading")


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
def emulated(debian: Path, tmp_path_factory: pytest.TempPathFactory) -> Pacelab:
    """`pacelab` of the wheels for arm64, on an emulated processor."""
    wheels = [find_wheel("pacelab", "any"), *(find_wheel(name, "linux-aarch64") for name in (ENGINE, MEDIUMD))]
    place = tmp_path_factory.mktemp("arm64")
    there = ["--python-version", DEBIANS_PYTHON, "--only-binary=:all:", "--target", place]
    there += [word for name in MANYLINUX for word in ("--platform", name)]
    pip("install", *there, "--require-hashes", "-r", REQUIREMENTS)
    pip("install", *there, "--no-deps", "--upgrade", *wheels)
    python = ["qemu-aarch64-static", "-L", debian, debian / "usr/bin" / f"python{DEBIANS_PYTHON}"]
    return lambda words, folder: run(
        [*python, "-c", "import sys; from pacelab.cli.main import main; sys.exit(main())", *words.split()],
        folder,
        PYTHONPATH=str(place),
    )


def features(pacelab: Pacelab, folder: Path) -> dict[str, dict[str, object]]:
    """The output of `pacelab doctor`."""
    return {feature["name"]: feature for feature in json.loads(pacelab("doctor --json", folder).stdout)["features"]}


def test_wheel_here_has_all_that_the_simulator_needs(native: Pacelab, tmp_path: Path) -> None:
    found = features(native, tmp_path)
    assert all(feature["present"] for feature in found.values() if feature["required"])
    assert found["live demos"]["present"]


def test_wheel_here_does_the_main_job(native: Pacelab, tmp_path: Path) -> None:
    ran = native("lab", tmp_path)
    assert "220 runs of 60 s" in ran.stderr
    assert "Fairness: " in ran.stdout
    folder = tmp_path / "runs" / "lab-1"
    assert {path.stem for path in folder.glob("*.png")} == {"fairness", "speed", "limits"}
    rows = json.loads((folder / "chains.json").read_text("utf-8"))["rows"]
    assert len(rows) == 6 * 2 * 2, "chains of six lengths, static routes and AODV, NewReno and TCP-GAP"
    assert all(row["goodput_bps"]["mean"] > 0 for row in rows)


def test_wheel_here_exports_a_live_demonstration(native: Pacelab, tmp_path: Path) -> None:
    native("demo hidden --export hidden.html", tmp_path)
    page = (tmp_path / "hidden.html").read_text("utf-8")
    assert any(gzip.decompress(base64.b64decode(packed)).startswith(b"\0asm") for packed in GZIPPED.findall(page))


def test_core_alone_has_no_command_of_a_product(native: Pacelab, tmp_path: Path) -> None:
    commands = native("--help", tmp_path).stdout
    assert " run " in commands
    assert [name for name in ("check", "controller", "grade") if f" {name} " in commands] == []


MOST_CORE_BYTES = 60e6
INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
"""Packages that a new environment has before anything is installed."""


def test_the_core_is_small_and_runs_without_matplotlib(tmp_path: Path) -> None:
    programs = installed(tmp_path / "core", "pacelab")
    (packages,) = (tmp_path / "core" / "lib").glob("python*/site-packages")
    total = sum(
        file.stat().st_size
        for folder in packages.iterdir()
        if not folder.name.startswith(INSTALLERS)
        for file in (folder.rglob("*") if folder.is_dir() else [folder])
        if file.is_file()
    )
    assert total <= MOST_CORE_BYTES
    assert not (packages / "matplotlib").exists()
    run([programs / "pacelab", "run", "chain", "--seconds", "2"], tmp_path, PATH=str(programs))


def test_grading_and_labs_are_found_beside_the_core(student: Path, tmp_path: Path) -> None:
    helped = run([student / "pacelab", "check", "--help"], tmp_path, PATH=str(student))
    assert "pacelab check" in helped.stdout
    code = "from pacelab import lab, show_demo; print(lab.__name__, callable(show_demo))"
    assert run([student / "python", "-c", code], tmp_path).stdout == "pacelab_labs True\n"


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


def test_wheel_for_arm64_has_a_mediumd_that_starts(debian: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(find_wheel(MEDIUMD, "linux-aarch64"), tmp_path, "zip")
    (program,) = tmp_path.glob("*.data/scripts/mediumd")
    program.chmod(0o755)
    said = run(["qemu-aarch64-static", "-L", debian, program, "--help"], tmp_path)
    assert said.stdout.startswith("usage: mediumd ")
