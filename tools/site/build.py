"""Builds the site: collects its pages under build/site-pages, at their paths in the repository, and calls MkDocs.

    python tools/site/build.py [--jobs N]

The steps that generate pages run in parallel, and their times are printed. The pages keep their paths, so that the
links between them stay valid. MkDocs refuses broken links.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from pacelab import lab
from pacelab.figures.page import classic_script
from pacelab.public import PUBLIC

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = ROOT / "build" / "site-pages"
SITE = ROOT / "build" / "site"
PACELAB = Path(sys.executable).with_name("pacelab")
LITE = ROOT / "build" / "lite"
"""The labs in the reader's browser, if `make lite` has made them."""

WRITTEN = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs",
    "labs/README.md",
    "medium/README.md",
    "medium/mediumd/PROTOCOL.md",
    "bench/README.md",
    "studies/README.md",
    "studies/mininet_wifi.jsonl",
    "studies/who_wins.csv",
)
"""Pages that are copied from the repository."""
MASTERS = Path("labs/pacelab_labs/masters")
"""The folder of the labs in the repository, and of their pages in the site."""
HOME = re.compile(r"## Try it in your browser\n.*?(?=^## )", re.DOTALL | re.MULTILINE)
"""The section of README.md in whose place the site's home page has the demonstration and the labs."""
IN_BROWSER = (
    "Python runs in your browser. Nothing is installed, and nothing is sent to a server. Your browser stores your "
    "work, and a bar below each notebook downloads it."
)
SHAPE = re.compile(r'\sd="[^"]*"')
FURTHER_DIGITS = re.compile(r"(\.\d\d)\d+")
EQUATIONS = re.compile(r"\]\(\.\./pacer/(pacelab_pacer/core/\w+/\w+)\.py\)")
"""Links to a paper's equations, which are a page of the reference on the site."""


@dataclass(frozen=True, slots=True)
class Took:
    """The processor time and the elapsed time of a step."""

    name: str
    cpu_s: float
    wall_s: float


def main() -> int:
    """Build the site; return the exit code."""
    parser = argparse.ArgumentParser(description="make the site under build/site")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="number of parallel steps (default: cores)"
    )
    jobs = parser.parse_args().jobs
    begun = time.monotonic()
    shutil.rmtree(PAGES, ignore_errors=True)
    copy_pages()
    write_home(PAGES)
    write_figures_script()
    write_reference(PAGES)
    failed: list[str] = []
    took: list[Took] = []
    with ThreadPoolExecutor(jobs) as pool:
        for step in pool.map(lambda step: run(*step), made()):
            (took if isinstance(step, Took) else failed).append(step)  # type: ignore[arg-type]
    if not failed:
        lighten(PAGES / "claims", PAGES / "book")
        for drawing in PAGES.rglob("*.svg"):
            drawing.write_text(round_shapes(drawing.read_text("utf-8")), "utf-8")
        mkdocs = ["-m", "mkdocs", "build", "--quiet", "--strict", "--clean", "--config-file", str(HERE / "mkdocs.yml")]
        step = run("pages", [sys.executable, *mkdocs])
        (took if isinstance(step, Took) else failed).append(step)  # type: ignore[arg-type]
        (SITE / "404.html").unlink(missing_ok=True)  # its links start at the root of a server
        drop_unused()
        if LITE.is_dir():
            shutil.copytree(LITE, SITE / "lite", dirs_exist_ok=True)
    for one in took:
        print(f"  {one.name:24} {one.cpu_s:6.1f} s of processor time, {one.wall_s:6.1f} s elapsed")
    total = Took("site", sum(one.cpu_s for one in took), time.monotonic() - begun)
    print(f"  {total.name:24} {total.cpu_s:6.1f} s of processor time, {total.wall_s:6.1f} s elapsed")
    print(*failed, sep="\n", end="\n" if failed else "", file=sys.stderr)
    print(
        f"{SITE / 'index.html'}: open this file, or copy the folder to any server"
        if not failed
        else "the site was not built"
    )
    return 1 if failed else 0


def copy_pages() -> None:
    """Copy the written pages to their paths in the repository."""
    for name in WRITTEN:
        source, target = ROOT / name, PAGES / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
    glossary = PAGES / "docs" / "glossary.md"
    text = EQUATIONS.sub(
        lambda link: f"](../api/equations.md#{link[1].replace('/', '.')})", glossary.read_text("utf-8")
    )
    glossary.write_text(text, "utf-8")


def write_home(pages: Path) -> None:
    """Make README.md the home page: a demonstration that runs in the page, the labs, then what README.md says."""
    masters = sorted((ROOT / MASTERS).glob("lab[0-9]*.py"))
    home = Template((HERE / "home.md").read_text("utf-8")).substitute(
        about=IN_BROWSER if LITE.is_dir() else "Each page shows a lab with its results.",
        labs="\n".join(lab_link(master, "") for master in masters),
    )
    readme = pages / "README.md"
    text, replaced = HOME.subn("", readme.read_text("utf-8"))
    if replaced != 1 or not text.startswith("# PaceLab\n"):
        raise SystemExit("build.py: README.md must begin with '# PaceLab' and have a section 'Try it in your browser'")
    readme.write_text(home + text.removeprefix("# PaceLab\n"), "utf-8")
    if LITE.is_dir():
        labs = pages / "labs" / "README.md"
        title, _, rest = labs.read_text("utf-8").partition("\n")
        links = "\n".join(lab_link(master, "../") for master in masters)
        labs.write_text(f"{title}\n\n{IN_BROWSER}\n\n{links}\n\n## On your computer\n{rest}", "utf-8")


def lab_link(master: Path, root: str) -> str:
    """A list item: a lab's page, and its notebook in the browser. `root` is the way to the site's first folder."""
    title = master.read_text("utf-8").splitlines()[1].lstrip("# ")
    notebook = f'<a href="{root}lite/notebooks/index.html?path={master.stem}.ipynb">Open in your browser</a>'
    page = f"[{title}]({root}{MASTERS.as_posix()}/{master.stem}.md)"
    return f"- {page}" + (f" · {notebook}" if LITE.is_dir() else "")


def write_figures_script() -> None:
    """Write the script that draws the figures of the labs."""
    script = PAGES / "assets" / "figures.js"
    script.parent.mkdir(exist_ok=True)
    script.write_text(classic_script(), "utf-8")


def lighten(claims: Path, book: Path) -> None:
    """Load figures when the reader scrolls to them. Inside the page, they would all load before it is shown."""
    for page in claims.glob("*.md"):
        page.write_text(re.sub(r"(?m)^(!\[.*\]\(.*\))$", r"\1{ loading=lazy }", page.read_text("utf-8")), "utf-8")
    report = book / "report.html"
    drawn = {path.read_bytes(): f"../claims/{path.relative_to(claims)}" for path in claims.glob("*/*.svg")}
    text = re.sub(
        r'src="data:image/svg\+xml;base64,([^"]*)"',
        lambda image: f'loading="lazy" src="{drawn[base64.b64decode(image[1])]}"',
        report.read_text("utf-8"),
    )
    report.write_text(text, "utf-8")


def round_shapes(svg: str) -> str:
    """The drawing with the coordinates of its shapes to a hundredth of a point, which no screen shows."""
    return SHAPE.sub(lambda shape: FURTHER_DIGITS.sub(r"\1", shape[0]), svg)


def drop_unused() -> None:
    """Remove files that no reader's browser loads: source maps, and the search in languages other than English."""
    assets = SITE / "assets"
    shutil.rmtree(assets / "javascripts" / "lunr")
    for path in assets.rglob("*.map"):
        path.unlink()


def made() -> Iterator[tuple[str, list[str]]]:
    """The steps that generate pages, the longest first: name and command."""
    python = sys.executable
    for master in sorted((ROOT / MASTERS).glob("lab[0-9]*.py"), reverse=True):
        target = PAGES / MASTERS / f"{master.stem}.md"
        yield master.stem, [python, str(HERE / "pages.py"), "lab", str(master), str(target)]
    yield "who wins", [python, str(ROOT / "studies" / "who_wins.py"), "--tables", str(PAGES / "who-wins.md")]
    yield "gallery", [python, str(HERE / "pages.py"), "drawn", str(PAGES)]
    yield "claims", [python, str(HERE / "pages.py"), "claims", str(PAGES)]
    yield "book", [str(PACELAB), "report", "--out", str(PAGES / "book")]
    yield "live", [python, str(HERE / "pages.py"), "live", str(PAGES)]


def run(name: str, command: list[str]) -> Took | str:
    """Run a step. Returns its times, or its name and output if it fails."""
    begun = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return f"{name}: {' '.join(command)}\n{said.strip()}"
    return Took(name, used.ru_utime + used.ru_stime, time.monotonic() - begun)


# Pages of the reference: the public API, for which mkdocstrings reads the docstrings, and the schemas of results.

API = {
    "running": (
        "Experiments and runs",
        "Experiments and how to run them: one at a time or many in parallel, with progress.",
        ("experiment", "parameters", "running", "errors", "console"),
    ),
    "results": (
        "Results and figures",
        "Results of runs, comparisons, sweeps and figures.",
        ("results", "figures", "grid"),
    ),
    "networks": ("Networks", "Nodes, wires, flows and positions.", ("pacelab_topologies",)),
    "own": (
        "Code of your own",
        "A congestion control, a pacer, a link layer, and the schemes of the lab.",
        ("user_code", "user_schemes", "air", "schemes", "demo"),
    ),
    "contract": ("The core's contract", "The inputs and the actions of an algorithm.", ("pacelab_pacer",)),
}
"""Page -> heading, description, and the parts of PaceLab whose public names it lists."""


def write_reference(pages: Path) -> None:
    """Write the reference into the site's pages."""
    for name, (title, about, parts) in API.items():
        found = [f"{module}.{public}" for public, module in PUBLIC.items() if _part(module) in parts]
        _write(pages / "api" / f"{name}.md", title, about, [f"::: {path}" for path in sorted(found, key=_last)])
    left = {_part(module) for module in PUBLIC.values()}
    left -= {part for _, _, parts in API.values() for part in parts}
    if left:
        raise SystemExit(f"build.py: API has no page for {', '.join(sorted(left))}")
    modules = [path.relative_to(ROOT / "pacer") for path in sorted((ROOT / "pacer/pacelab_pacer/core").glob("*/*.py"))]
    equations = [path for path in modules if path.stem in ("equations", "e_model")]
    _write(
        pages / "api" / "equations.md",
        "The papers' equations",
        "Each paper's equations are in one module, in the order of their numbers. The [glossary](../docs/glossary.md) "
        "lists the symbols and their names.",
        [_equations(path) for path in equations],
    )
    shown = [getattr(lab, name) for name in sorted(lab.__all__) if hasattr(getattr(lab, name), "__module__")]
    names = [f"::: {each.__module__}.{each.__qualname__}" for each in shown]
    _write(pages / "api" / "lab.md", "What notebooks use", "`from pacelab import lab`", names)
    for name, title in (("run", "run.json"), ("host", "host.json")):
        schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text("utf-8"))
        text = "\n".join(_schema(schema, title, f"../docs/{name}.schema.json"))
        _write(pages / "schemas" / f"{name}.md", title, text, [])


def _equations(path: Path) -> str:
    """A section for a module. Modules of the same name are told apart by their paper."""
    module = ".".join(path.with_suffix("").parts)
    options = "{show_root_heading: false, show_root_toc_entry: false, heading_level: 3}"
    return f"## {path.parent.name} {path.stem} {{ #{module} }}\n\n::: {module}\n    options: {options}"


def _part(module: str) -> str:
    """The folder of a module of pacelab, or the package of any other module."""
    package, _, inside = module.partition(".")
    return inside.split(".")[0] if package == "pacelab" else package


def _last(path: str) -> str:
    return path.rpartition(".")[2].lower()


def _write(file: Path, title: str, about: str, parts: list[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n\n".join([f"# {title}", about, *parts]) + "\n", "utf-8")


def _schema(schema: dict[str, Any], title: str, file: str) -> Iterator[str]:
    """A table per object. The unit of a number is in its name."""
    yield f"{schema['description']} The schema itself: [{file.rpartition('/')[2]}]({file}).\n"
    yield "Units are in the names: `_s` seconds, `_bps` bit/s, `_bytes`, `_pkts` packets, `_m` metres.\n"
    for name, part in {title: schema, **schema["$defs"]}.items():
        if "properties" not in part:
            continue
        if part is not schema:
            yield f"## {name}\n\n{part.get('description', '')}\n"
        yield "| field | type |\n|---|---|"
        for field, what in part["properties"].items():
            yield f"| `{field}`{'' if field in part.get('required', ()) else ' (may be absent)'} | {_type(what)} |"
        yield ""


def _type(what: dict[str, Any]) -> str:
    if "$ref" in what:
        name = what["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in what:
        return " or ".join(map(_type, what["anyOf"]))
    if "enum" in what:
        return "one of " + ", ".join(f"`{value}`" for value in what["enum"])
    if "const" in what:
        return f"`{what['const']}`"
    if what.get("type") == "array":
        return f"list of {_type(what['items'])}" if "items" in what else "list"
    if isinstance(what.get("additionalProperties"), dict):
        return f"object; each value: {_type(what['additionalProperties'])}"
    return str(what.get("type", "any"))


if __name__ == "__main__":
    sys.exit(main())
