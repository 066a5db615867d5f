"""The public names load when used, and leaves load nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pacelab
from pacelab import ConfigError, Experiment, Forward, Scheme, SegmentSeen, run


def test_every_public_name_loads() -> None:
    for name in pacelab.__all__:
        assert getattr(pacelab, name) is not None


def test_public_names_survive_the_import_of_their_modules() -> None:
    import pacelab.grid.comparison
    import pacelab.running.runner

    assert callable(pacelab.run)
    assert callable(pacelab.compare)


def test_the_command_line_starts_lean() -> None:
    """Nothing heavy is imported before a command asks for it."""
    code = (
        "import sys; from pacelab.cli.main import COMMANDS, load_command; [load_command(name) for name in COMMANDS]; "
        "heavy = {'matplotlib', 'numpy', 'scipy', 'rich', 'pydantic', 'multiprocessing', 'asyncio'}; "
        "print(sorted(heavy & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_run_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    code = (
        "import sys; from pacelab.cli.main import main; "
        f"code = main(['run', 'chain', '--hops', '2', '--seconds', '1', '--out', {str(tmp_path / 'run')!r}]); "
        "heavy = {'matplotlib', 'numpy', 'scipy', 'pydantic', 'asyncio', 'importlib.metadata', 'multiprocessing', "
        "'ctypes', 'hashlib', 'statistics'}; "
        "sys.exit(code or ' '.join(sorted(heavy & sys.modules.keys())))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("chain of 2 wireless hops")
    assert ran.stderr.splitlines()[-1] == ""  # what is loaded


def test_what_mypy_sees_is_what_there_is() -> None:
    tree = ast.parse(Path(pacelab.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pacelab.")
        for alias in node.names
    }
    assert seen == pacelab._PUBLIC


class Passing:
    """A hook of one's own, counting what it lets pass."""

    event_mask = 1

    def __init__(self) -> None:
        self.actions: list[Forward] = []
        self.passed = 0

    def handle(self, now_ns: int, event: SegmentSeen) -> None:
        self.passed += 1
        self.actions.append(Forward(event.segment.handle))

    def poll_action(self) -> Forward | None:
        return self.actions.pop() if self.actions else None

    def deadline(self) -> None:
        return None

    def handle_timeout(self, now_ns: int) -> None: ...

    def counters(self) -> dict[str, int]:
        return {"passed": self.passed}


OWN = Scheme(name="own", summary="mine", source="me", gateway=lambda _settings: Passing(), acting=frozenset({"passed"}))
CHAIN = Experiment(topology="chain", topology_options={"hops": 2}, duration_s=2.0)


@pytest.mark.usefixtures("engine")
def test_a_scheme_of_ones_own_runs_and_is_named() -> None:
    own, plain = run(CHAIN, scheme=OWN).run, run(CHAIN).run
    assert own["config"]["scheme"] == "own"
    assert own["hooks"]["actions"] > 0
    assert own["flows"] == plain["flows"]


def test_a_scheme_of_ones_own_stands_beside_the_baseline_alone() -> None:
    with pytest.raises(ConfigError, match="beside it is the baseline"):
        run(CHAIN.vary(scheme="tcp-gap"), scheme=OWN)
