"""The features that work on this host, and how to install the missing ones."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points

from pacelab.engine import REMEDY, load_engine
from pacelab.errors import HostError
from pacelab.running.workers import usable_cores
from pacelab_pacer import native

GROUP = "pacelab.doctor"
"""Entry points of products with their own rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature of this host. `remedy` says how to install it; it is empty if the feature is present."""

    name: str
    present: bool
    detail: str
    remedy: str = ""
    required: bool = False
    """Whether comparisons with the back end sim need it."""


def examine() -> list[Feature]:
    """All features, in a fixed order."""
    return [
        _python(),
        _engine(),
        _package("figure files", "matplotlib", required=False),
        _package("tables", "rich", required=True),
        _workers(),
        _algorithms(),
        _demos(),
        _real_hosts("tap", "real Linux hosts in network namespaces"),
        _real_hosts("hwsim", "such hosts with the kernel's simulated radios and its own Wi-Fi stack"),
        _uml(),
        _mininet(),
        _mininet_wifi(),
        _wmediumd(),
        *_products(),
    ]


def _products() -> list[Feature]:
    """Requirements of installed products. Each product has a function that returns rows: name, present,
    detail, remedy.
    """
    offered = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    rows = [row for point in offered for row in point.load()()]
    return [Feature(name=name, present=present, detail=detail, remedy=remedy) for name, present, detail, remedy in rows]


def _algorithms() -> Feature:
    name, remedy = "compiled algorithms", "in the source tree: make build, which says what is missing"
    if os.environ.get(native.VARIABLE):
        return Feature(
            name=name, present=False, detail=f"{native.VARIABLE} is set: interpreted", remedy=f"unset {native.VARIABLE}"
        )
    if not native.is_compiled():
        return Feature(name=name, present=False, detail="interpreted: the same results, slower", remedy=remedy)
    return Feature(name=name, present=True, detail="of the .py files as they are")


def _demos() -> Feature:
    from pacelab.demo.page import engine_bytes

    try:
        engine_bytes()
    except HostError as error:
        remedy = str(error).partition(": ")[2]
        return Feature(name="live demos", present=False, detail="the engine for web pages is not here", remedy=remedy)
    return Feature(name="live demos", present=True, detail="the engine as WebAssembly")


def _real_hosts(back_end: str, what: str) -> Feature:
    name = f"back end {back_end}"
    if sys.platform != "linux":
        remedy = "use Linux, WSL2, or a virtual machine"
        return Feature(name=name, present=False, detail="it needs Linux", remedy=remedy)
    from pacelab.emulation.probes import missing

    lacks = list(missing(back_end))
    detail = f"no {', '.join(thing for thing, _ in lacks)}" if lacks else what
    return Feature(name=name, present=not lacks, detail=detail, remedy="; ".join(remedy for _, remedy in lacks))


def _uml() -> Feature:
    from pacelab.emulation.where.features import missing_for_uml

    lacks = list(missing_for_uml())
    detail = f"no {', '.join(name for name, _ in lacks)}" if lacks else "real Linux in virtual time, without root"
    return Feature(
        name="--where uml", present=not lacks, detail=detail, remedy="; ".join(remedy for _, remedy in lacks)
    )


def _mininet() -> Feature:
    if sys.platform != "linux":
        return Feature(name="pacelab shell", present=False, detail="it needs the back end tap", remedy="as above")
    from pacelab.emulation.probes import mininet

    remedy = mininet()
    return Feature(
        name="pacelab shell",
        present=remedy is None,
        detail="Mininet's command line on these hosts",
        remedy=remedy or "",
    )


def _mininet_wifi() -> Feature:
    name, detail = "--builder mininet-wifi", "the back end hwsim's hosts as Mininet-WiFi's stations"
    if sys.platform != "linux":
        return Feature(name=name, present=False, detail="it needs the back end hwsim", remedy="as above")
    from pacelab.emulation.probes import mininet_wifi

    remedy = mininet_wifi()
    return Feature(name=name, present=remedy is None, detail=detail, remedy=remedy or "")


def _wmediumd() -> Feature:
    name, remedy = "wmediumd", "docs/mininet-wifi.md installs PaceLab's under this name"
    if sys.platform != "linux":
        return Feature(name=name, present=False, detail="it needs Linux", remedy=remedy)
    from pacelab.emulation.wmediumd import describe_running, is_pacelabs, on_roots_path

    found = on_roots_path()
    ours = found is not None and is_pacelabs(found)
    what = "no wmediumd in root's PATH" if found is None else f"{found}, {'PaceLab' if ours else 'not PaceLab'}'s"
    detail = "; ".join([what, *describe_running()])
    return Feature(name=name, present=ours, detail=detail, remedy="" if ours else remedy)


def _python() -> Feature:
    enough = sys.version_info >= (3, 11)
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Feature(
        name="python", present=enough, detail=detail, remedy="" if enough else "install Python 3.11", required=True
    )


def _engine() -> Feature:
    try:
        module = load_engine()
    except HostError as error:
        return Feature(
            name="back end sim", present=False, detail=str(error).split(";")[0], remedy=REMEDY, required=True
        )
    return Feature(name="back end sim", present=True, detail=f"engine {module.__name__}", required=True)


def _package(name: str, package: str, *, required: bool) -> Feature:
    present = importlib.util.find_spec(package) is not None
    remedy = "" if present else f"pip install {package}"
    return Feature(name=name, present=present, detail=package, remedy=remedy, required=required)


def _workers() -> Feature:
    try:
        import multiprocessing

        multiprocessing.get_context("spawn").Event()
    except (ImportError, OSError) as error:
        remedy = "mount /dev/shm; until then use --jobs 1"
        return Feature(name="worker processes", present=False, detail=str(error), remedy=remedy)
    return Feature(name="worker processes", present=True, detail=f"{usable_cores()} cores")
