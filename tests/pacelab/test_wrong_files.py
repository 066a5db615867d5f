"""Wrong files of users (networks, traffic, code, claims): each refusal names the file or value and what to do.

`test_messages.py` has the wrong options and calls, `grading/tests/test_wrong_inputs.py` those of `pacelab grade`.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pacelab.cli.main import main

CODE = """import pacelab

class Mine(pacelab.CongestionControl):
    def acknowledged(self, *_): self.window = 1.0

class Calm(pacelab.Pacer):
    def measured(self, sample): self.interval_s = -1

class Fast(pacelab.Pacer):
    def measured(self, sample): self.interval_s = "fast"

class Empty(pacelab.Pacer): pass

class Other: pass
"""
FILES = {
    "empty.yaml": "",
    "list.yaml": "[1, 2]",
    "broken.yaml": "a: b: c",
    "short.yaml": "version: 1\nname: net\n",
    "empty.py": "",
    "no_default.py": "def topology(hops): return 3",
    "three.py": "def topology(*, arms: int = 3): return 3",
    "no_function.py": "topology = 4",
    "divides.py": "def topology(*, arms: int = 3): return 1 / 0",
    "syntax.py": "def topology(:\n",
    "imports.py": "import no_such_package",
    "mine.py": CODE,
    "flow.yaml": "version: 1\nflows:\n  - {flow: 7}\n",
    "node.yaml": "version: 1\nflows:\n  - {from: n0, to: n9}\n",
    "kind.yaml": "version: 1\nflows:\n  - {from: n0, to: n1, kind: ftp}\n",
    "unit.yaml": "version: 1\nflows:\n  - {from: n0, to: n1, kind: cbr, rate: 200}\n",
    "cc.yaml": "version: 1\nflows:\n  - {from: n0, to: n1, cc: veno}\n",
    "call.yaml": "version: 1\nflows:\n  - {from: n0, to: n1, kind: voice, cc: vegas}\n",
    "none.yaml": "version: 1\nflows: []\n",
}
EXAMPLE = "`pacelab new cc NAME` writes an example"
REFUSED = [
    ("run empty.yaml", "empty.yaml:1: the file must be a mapping at the top level: write lines of `key: value`"),
    ("run list.yaml", "list.yaml:1: the file must be a mapping at the top level: write lines of `key: value`"),
    ("run broken.yaml", "broken.yaml:1: not valid YAML: mapping values are not allowed here; write YAML 1.2"),
    ("run short.yaml", "short.yaml:1: ranges: the key is missing; required: version, name, ranges, nodes, flows"),
    ("run empty.py", "empty.py:1: topology is missing; define `def topology(*, direction, ...)`"),
    ("run no_default.py", "topology: parameter 'hops' must have a default that is a bool, int, float, or str"),
    ("run three.py", "three.py:1: topology must return a pacelab.Topology, not 3"),
    ("run no_function.py", "no_function.py:1: topology is not a function but 4; define `def topology("),
    ("run divides.py", "divides.py:1: topology: ZeroDivisionError: division by zero; correct the file"),
    ("run syntax.py", "syntax.py:1: not valid Python: invalid syntax; correct the file"),
    ("run imports.py", "ModuleNotFoundError: No module named 'no_such_package'; correct the file"),
    ("run three.py --set arms=x", "--set arms must be a whole number from -1000000000 to 1000000000, not 'x'"),
    ("run three.py --set arm=2", "--set must be NAME=VALUE with an option of topology 'three.py' (arms), not 'arm=2'"),
    (
        "run three.py --set arms=2 --set arms=3",
        "--set is given 2 times; give it once, as NAME=VALUE,NAME=VALUE; `pacelab run --help` lists the options",
    ),
    ("run three.py --arms 4", "use --set NAME=VALUE for an option of your own topology;"),
    ("run chain --cc mine.py:Xyz", "no subclass of pacelab.CongestionControl called 'Xyz'; did you mean mine.py:Mine?"),
    ("run chain --cc empty.py:Other", f"no subclass of pacelab.CongestionControl called 'Other'; {EXAMPLE}"),
    ("run chain --cc mine.py:Mina", "called 'Mina'; did you mean 'Mine'?"),
    ("run chain --cc mine.py:Mine", f"--cc 'mine.py:Mine': Mine must define lost; {EXAMPLE}"),
    ("run chain --scheme mine.py:Other", "did you mean mine.py:Calm or mine.py:Fast or mine.py:Empty?"),
    ("run chain --scheme empty.py:Other", "called 'Other'; `pacelab new scheme NAME` writes an example"),
    (
        "run chain --scheme mine.py:Empty",
        "pacer Empty must define measured; `pacelab new pacer NAME` writes an example",
    ),
    ("run chain --seconds 1 --scheme mine.py:Calm", "set interval_s to -1; it must be 0 or more seconds"),
    ("run chain --seconds 1 --scheme mine.py:Fast", "set interval_s to 'fast'; it must be a number of seconds"),
    ("run chain --traffic flow.yaml", "flow.yaml:3: flows.0.flow: must be a flow of the topology, 0 to 0, not 7"),
    ("run chain --traffic node.yaml", "n7, RT1, RT2, host), not 'n9'"),
    ("run chain --traffic kind.yaml", "kind.yaml:3: flows.0.kind: must be one of tcp, udp-saturated, cbr, file, http,"),
    ("run chain --traffic unit.yaml", "unit.yaml:3: flows.0.rate: the unit of 200 is missing; must be a number"),
    ("run chain --traffic cc.yaml", "must be one of newreno, reno, tahoe, vegas, westwood, westwood-2001, cubic,"),
    ("run chain --traffic call.yaml", "only tcp, file, http flows have a congestion control, not voice; remove cc"),
    ("run chain --traffic none.yaml", "none.yaml:2: flows: must be a list of at least 1, not []"),
    ("reproduce short.yaml", "key schema: the key is missing; add it, as in the example that `pacelab new claim NAME`"),
    ("reproduce list.yaml", "line 1: must be lines of `key: value`; `pacelab new claim NAME` writes an example"),
    ("reproduce broken.yaml", "line 1: not valid YAML: mapping values are not allowed here; write YAML 1.2"),
    ("reproduce absent.yaml", "cannot read claim file 'absent.yaml' (No such file or directory); give the path of"),
    ("plot empty.py", "'empty.py' is a file; give the folder of a run, sweep or comparison"),
    ("controller --network empty.py", "the file must be JSON (line 1: Expecting value); docs/controller.md has an"),
]
ADVICE = re.compile(
    r"must (be|have|return|define)"
    r"|; (it must|use|give|add|write|define|correct|remove|required|did you mean|`pacelab|docs/)"
)


@pytest.mark.parametrize(("command", "told"), REFUSED, ids=[command for command, _ in REFUSED])
def test_a_wrong_file_is_refused_in_one_line(
    command: str, told: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in FILES.items():
        (in_tmp / name).write_text(text, encoding="utf-8")
    assert main(shlex.split(command)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert "\n" not in captured.err.strip()
    assert ADVICE.search(captured.err)
