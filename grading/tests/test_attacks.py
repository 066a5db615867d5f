"""Hostile code gains no point, does no damage, and gets a clear line in its report."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from pacelab_grading.assignments import find_assignment
from pacelab_grading.judging import judge as judge_module
from pacelab_grading.records.report import html_report, text_report
from pacelab_grading.rubric.verdict import Verdict
from pacelab_grading.sandbox import session as session_module
from pacelab_grading.sandbox import watch as watch_module
from pacelab_grading.sandbox.box import Limits, Walls
from pacelab_grading.sandbox.leftovers import BOX, own_mark

# Hostile code. Each text is the body of a function that is asked for a number, or runs at the import of the file.

CALLED = """PACELAB_ASSIGNMENT = "3/1"
import os, sys
def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):
{body}
class PaceEstimator:
    def __init__(self): self.four_hop_delay_ns = None
    def sample(self, *a): raise NotImplementedError
    def cov(self): raise NotImplementedError
    def interval_ns(self): raise NotImplementedError
class GatewayPacer:
    event_mask = 1
    def handle(self, now_ns, event): raise NotImplementedError
    def poll_action(self): return None
    def deadline(self): return None
    def handle_timeout(self, now_ns): pass
    def counters(self): return {{}}
"""
PIPE = "4"
"""Descriptors are found by trying: the code does not know which one is the pipe."""


class Attack(NamedTuple):
    name: str
    body: str
    report: str
    """A regular expression that its report must match."""
    imported: bool = False
    """It runs when the file is imported."""
    slow: bool = False

    @property
    def source(self) -> str:
        lines = self.body.strip("\n").splitlines()
        if self.imported:
            return "\n".join(lines) + "\n" + CALLED.format(body="    raise NotImplementedError")
        return CALLED.format(body="\n".join(f"    {line}" for line in lines))


EPERM = "Operation not permitted|Permission denied|PermissionError"
WRITE = """
for fd in range(3, 64):
    try: os.write(fd, FRAME)
    except OSError: pass
"""

ATTACKS = (
    Attack("endless-loop", "while True: pass", "3,000,000 steps without returning.*endless loop", slow=True),
    Attack(
        "endless-loop-that-catches",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "endless loop",
        slow=True,
    ),
    Attack("endless-import", "while True: pass", "cannot be imported: .*endless loop", imported=True, slow=True),
    Attack("fork-bomb", "while True: os.fork()", EPERM),
    Attack(
        "thread-bomb", "import threading\nwhile True: threading.Thread(target=input).start()", "can't start new thread"
    ),
    Attack("memory-bomb", "return len('x' * 10**11)", "more than 512 MiB of memory"),
    Attack("memory-bomb-in-steps", "x = []\nwhile True: x.append(bytearray(10**7))", "more than 512 MiB of memory"),
    Attack("huge-output", "while True: print('x' * 10**6)", "more than 4 MiB were printed"),
    Attack(
        "huge-output-at-import",
        "import sys\nwhile True: sys.stderr.write('x' * 10**6)",
        "more than 4 MiB",
        imported=True,
    ),
    Attack("delete-files", "import shutil\nshutil.rmtree('/tmp')", "No such file|" + EPERM),
    Attack("fill-the-disk", "open('/tmp/x', 'wb').write(b'x' * 10**9)", EPERM),
    Attack("shared-memory", "open('/dev/shm/x', 'wb').write(b'x' * 10**6)", "No such file|" + EPERM),
    Attack(
        "read-the-grader-through-proc", "return open(f'/proc/{os.getppid()}/environ').read()", "No such file|" + EPERM
    ),
    Attack(
        "read-memory-of-the-grader", "return open(f'/proc/{os.getppid()}/mem', 'rb').read(9)", "No such file|" + EPERM
    ),
    Attack("list-processes", "return len(os.listdir('/proc'))", EPERM),
    Attack("import-the-tests", "import pacelab_grading.assignments", "No module named 'pacelab_grading.assignments'"),
    Attack("import-the-model", "import pacelab_pacer.core.tcp_gap.gateway", "No module named"),
    Attack(
        "import-installed-packages",
        "import glob\nsys.path += glob.glob('/usr/lib/python3*/*-packages')\n"
        "sys.path += glob.glob(sys.prefix + '/lib/python3*/site-packages')\nimport numpy",
        "No module named 'numpy'",
    ),
    Attack(
        "search-frames-for-the-answer",
        "frame = sys._getframe()\nwhile frame:\n    for value in frame.f_locals.values():\n"
        "        if isinstance(value, float): return value\n    frame = frame.f_back",
        "None, which is not a number",
    ),
    Attack(
        "search-gc-for-the-answer",
        "import gc\nfor item in gc.get_objects():\n"
        "    if isinstance(item, dict) and 'expected' in item: return item['expected']",
        "None, which is not a number|got",
    ),
    Attack(
        "always-equal",
        "class Yes(float):\n    def __eq__(self, other): return True\n    def __sub__(self, other): return 0.0\n"
        "    def __rsub__(self, other): return 0.0\n    def __repr__(self): return '24000000.0'\nreturn Yes(1.0)",
        "expected: FHD",
    ),
    Attack(
        "forge-a-verdict",
        "from pacelab_grading.inside import wire\nold = wire.encode\n"
        "wire.encode = lambda message, limit: old([message[0], 'passed', 100], limit)\nreturn 0",
        "a message of an unknown type",
    ),
    Attack("forge-results-json", "open('/autograder/results/results.json', 'w').write('{}')", "No such file|" + EPERM),
    Attack("exit-0", "sys.exit(0)", "raised SystemExit"),
    Attack("exit-0-at-import", "import sys\nsys.exit(0)", "importing your file raised SystemExit", imported=True),
    Attack("exit-hard", "os._exit(0)", r"the process ended \(code 0\) instead of answering"),
    Attack("atexit", "import atexit\natexit.register(print, '100 points')\nos._exit(0)", "instead of answering"),
    Attack("alarm", "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)", EPERM),
    Attack(
        "ignore-all-signals",
        "import signal\nfor n in range(1, 60):\n    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\nos._exit(3)",
        "code 3",
    ),
    Attack("kill-the-grader", "os.kill(os.getppid(), 9)", EPERM),
    Attack("kill-everybody", "os.kill(-1, 9)", EPERM),
    Attack("stop-itself", "os.kill(os.getpid(), 19)", EPERM),
    Attack("crash", "import ctypes\nctypes.string_at(0)", "signal 11"),
    Attack("malformed-message", WRITE.replace("FRAME", r"b'\0\0\0\4!!!!'"), "sent not JSON|not asked for"),
    Attack(
        "giant-message", WRITE.replace("FRAME", r"b'\xff\xff\xff\xff'"), "a message that announces 4294967295 bytes"
    ),
    Attack("unfinished-message", WRITE.replace("FRAME", r"b'\0\0\0\77['") + "os._exit(0)", "instead of answering"),
    Attack(
        "answer-before-the-question",
        WRITE.replace("FRAME", r"""b'\0\0\0\26["0","ok",24000000.0 ]'""") + "return 24e6",
        "not asked for|before the question",
    ),
    Attack(
        "answer-twice",
        "from pacelab_grading.inside import wire\nold = wire.write_all\n"
        "def twice(fd, frame):\n    old(fd, frame)\n    old(fd, frame)\nwire.write_all = twice\nreturn 24e6",
        "before the question|not asked for",
    ),
    Attack("close-the-pipe", "os.closerange(3, 64)", "ended|closed"),
    Attack("nan", "return float('nan')", "ValueError"),
    Attack("infinity", "return float('inf')", "ValueError"),
    Attack("enormous-number", "return 10**5000", "ValueError|not JSON"),
    Attack("enormous-answer", "return 'x' * 10**7", "10000.* bytes .at most 262144 are valid"),
    Attack("deep-answer", "x = []\nfor _ in range(10**5): x = [x]\nreturn x", "TypeError"),
    Attack("object-for-an-answer", "return object()", "a object was returned where a plain value"),
    Attack("pickle-for-an-answer", "import pickle\nreturn pickle.dumps(print)", "a bytes was returned"),
    Attack("network", "import socket\nsocket.create_connection(('192.0.2.1', 80), 1)", EPERM),
    Attack("unix-socket", "import socket\nsocket.socket(socket.AF_UNIX)", EPERM),
    Attack("web", "import urllib.request\nurllib.request.urlopen('http://192.0.2.1/', timeout=1)", "URLError|" + EPERM),
    Attack("run-a-program", "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'id'])", EPERM),
    Attack("become-a-program", "os.execv('/bin/sh', ['sh'])", EPERM + "|No such file"),
    Attack("become-root", "os.setuid(0)", EPERM),
    Attack(
        "new-name-space",
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nassert libc.unshare(0x10000000) == 0",
        "AssertionError",
    ),
    Attack(
        "trace-the-grader",
        "import ctypes\nassert ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0",
        "AssertionError",
    ),
    Attack("sleep", "import time\ntime.sleep(10**6)", EPERM),
    Attack(
        "wait-for-a-lock",
        "import threading\nx = threading.Lock()\nx.acquire()\nx.acquire()",
        r"waits \(sleep, input, a lock\)",
        slow=True,
    ),
    Attack("ask-the-user", "return input()", "EOFError"),
    Attack("endless-recursion", "return four_hop_delay_ns(0, 0, 0, ())", "RecursionError"),
    Attack(
        "probe-the-seed", "import time, random\nrandom.seed(int(time.time()))\nreturn random.random()", "expected: FHD"
    ),
    Attack("probe-the-arguments", "return str(sys.argv) + str(os.environ)", "which is not a number"),
    Attack("stop-counting-lines", "sys.settrace(None)\nsys.setprofile(None)\nreturn 1", "expected: FHD"),
    Attack("raise-limits", "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "ValueError|" + EPERM),
    Attack(
        "poison-json",
        "import json\njson.JSONEncoder.encode = lambda *a: '[]'\nreturn 24e6",
        "not asked for|expected: FHD",
    ),
    Attack(
        "poison-the-module-table",
        "sys.modules['pacelab'].SegmentSeen = None\nsys.modules.clear()\nreturn 1",
        "expected: FHD|raised",
    ),
)

ONCE = "from pacelab import Inject\n        s, self.seen = self.seen, None\n        return {} if s else None"
HOOK_ATTACKS = {
    "inject-made-up-data": (ONCE.format("Inject(s._replace(seq=0))"), "Inject is not an action of this assignment"),
    "endless-actions": ("return Forward(self.seen.handle) if self.seen else None", "more than 1000 actions"),
    "unknown-handle": (ONCE.format("Forward(s.handle + 7)"), "is not held"),
    "wrong-types": (ONCE.format("Forward('1')"), "wrong type"),
    "not-an-action": (
        "s, self.seen = self.seen, None\n        return ('Points', 100) if s else None",
        "is not an action",
    ),
}


def listed(groups: dict[str, tuple[str, ...]]) -> str:
    """The attacks as docs/grading.md lists them: one line per group. Groups of tests show only their number."""
    return "".join(
        f"- {title}: {len(names)} tests\n"
        if "must hold" in title
        else f"- {title} ({len(names)}): {', '.join(names)}\n"
        for title, names in groups.items()
    )


Judge = Callable[..., Verdict]


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


START, END = "<!-- attacks: made of the tests -->", "<!-- end of attacks -->"
WITHOUT_NAMESPACES = {
    *("fork-bomb", "memory-bomb", "huge-output", "delete-files", "fill-the-disk", "read-the-grader-through-proc"),
    *("read-memory-of-the-grader", "import-installed-packages", "forge-results-json", "kill-the-grader", "network"),
    *("kill-everybody", "unix-socket", "run-a-program", "become-a-program", "become-root", "trace-the-grader", "sleep"),
    *("list-processes", "shared-memory"),
}
"""Attacks that bubblewrap stops; the fallback must stop them as well. The others need no barrier."""


def processes() -> set[int]:
    """The processes of this user and of the users that sandboxes use."""
    return {int(name) for name in os.listdir("/proc") if name.isdecimal()}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_gains_nothing(attack: object, around: Walls, grade: Judge, tmp_path: Path) -> None:
    assert isinstance(attack, tuple)
    if around.bubblewrap is None and attack.name not in WITHOUT_NAMESPACES:
        pytest.skip("no different without bubblewrap")
    canary = tmp_path / "canary"
    canary.write_text("alive")
    verdict = grade(attack.source, around, only=("equal-rates",), limits=Limits(steps_per_call=3_000_000))
    assert verdict.points == 0, text_report(verdict)
    assert re.search(attack.report, text_report(verdict)), text_report(verdict)
    assert canary.read_text() == "alive"
    assert html_report(verdict).count("<html") == 1


@pytest.mark.parametrize("name", HOOK_ATTACKS)
def test_hostile_hook_gains_nothing(name: str, best: Walls, grade: Judge) -> None:
    body, report = HOOK_ATTACKS[name]
    source = CALLED.format(body="    raise NotImplementedError")
    source = source.replace("import os, sys", "import os, sys\nfrom pacelab import Forward")
    source = source.replace(
        "def handle(self, now_ns, event): raise NotImplementedError",
        "seen = None\n    def handle(self, now_ns, event): self.seen = event.segment",
    )
    source = source.replace("def poll_action(self): return None", f"def poll_action(self):\n        {body}")
    verdict = grade(source, best, only=("spacing",))
    assert verdict.points == 0, text_report(verdict)
    assert re.search(report, text_report(verdict)), text_report(verdict)


ENDLESS_IN_C = {
    "a sum without an end": "import itertools; return sum(itertools.repeat(1))",
    "a regular expression that backtracks": "import re; return re.match(r'(a+)+$', 'a' * 64 + 'b')",
    "a number that grows without bound": "return 9**9**9",
    "a query without an end": (
        "import sqlite3; return sqlite3.connect(':memory:').execute("
        "'with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c').fetchone()"
    ),
    "a comprehension": "return sum(1 for _ in iter(int, 1))",
    "colliding keys": "return len({2**61 - 1 << 61 * i if i else 0: i for i in range(10**7)}) and sum(range(10**12))",
}


@pytest.mark.parametrize("name", ENDLESS_IN_C)
def test_endless_work_in_c_gets_a_verdict(
    name: str, best: Walls, grade: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_module, "SECOND_CPU_S", 0.4)
    monkeypatch.setattr(judge_module, "REFERENCE_TIMES", 0)
    only = ("equal-rates", "unequal-rates", "short-path")
    verdict = grade(CALLED.format(body=f"    {ENDLESS_IN_C[name]}"), best, only=only)
    assert (verdict.status, verdict.points) == ("graded", 0)
    first, *others = [result.got for result in verdict.results]
    assert re.search("computed for 0.4 s of processor time without returning|more than 512 MiB of memory", first)
    assert all(re.search("does not end, as was proven above|more than 512 MiB of memory", other) for other in others)


def test_every_endless_function_of_a_hand_in_gets_a_verdict(
    best: Walls, grade: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later functions get less processor time, so that a hand-in full of endless functions ends."""
    monkeypatch.setattr(session_module, "CALL_CPU_S", 0.05)
    for module in (session_module, watch_module):
        monkeypatch.setattr(module, "SAMPLE_S", 0.02)
    monkeypatch.setattr(judge_module, "SECOND_CPU_S", 0.2)
    monkeypatch.setattr(judge_module, "FAILED_CPU_S", 0.3)
    monkeypatch.setattr(judge_module, "LATER_CPU_S", 0.1)
    monkeypatch.setattr(judge_module, "REFERENCE_TIMES", 0)
    names = re.findall(r"^def (\w+)\(", find_assignment(1).model, re.MULTILINE)
    source = "".join(f"def {name}(*_, **__): return sum(range(10**12))\n" for name in names)
    verdict = grade(source, best, number=1)
    assert (verdict.status, verdict.points) == ("graded", 0)
    took = [re.search(r"computed for ([\d.]+) s of processor time", result.got) for result in verdict.results]
    assert {match[1] for match in took if match} == {"0.2", "0.1"}
    assert all(result.status == "failed" for result in verdict.results)


def test_an_endless_import_in_c_gets_a_verdict(best: Walls, grade: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_module, "SECOND_CPU_S", 0.4)
    monkeypatch.setattr(judge_module, "REFERENCE_TIMES", 0)
    verdict = grade("x = sum(range(10**12))\n", best, only=("equal-rates",))
    assert (verdict.status, verdict.points) == ("graded", 0)
    assert "importing your file computed for 0.4 s of processor time" in verdict.problems[0]


def test_many_slow_calls_get_a_verdict(best: Walls, grade: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """No single call is long enough to be a suspect, but all calls together are."""
    monkeypatch.setattr(session_module, "TOTAL_CPU_S", 0.1)
    monkeypatch.setattr(session_module, "CHECK_EVERY", 1)
    monkeypatch.setattr(session_module, "COUNTING_SLOWS", 1)
    monkeypatch.setattr(judge_module, "SECOND_CPU_S", 0.15)
    monkeypatch.setattr(judge_module, "REFERENCE_TIMES", 0)
    body = "    sum(range(4 * 10**6))\n    return GOOD(rtt_ns, data_bytes, ack_bytes, rates_bps)"
    model = find_assignment(3).model.replace("def four_hop_delay_ns(", "def GOOD(", 1)
    verdict = grade(model + CALLED.format(body=body).split("class PaceEstimator")[0], best, only=("equal-rates",))
    (result,) = verdict.results
    assert (verdict.status, result.status) == ("graded", "failed"), text_report(verdict)
    assert re.search(r"all calls before it used 0.15 s of processor time|computed for 0.15 s", result.got)


def test_the_limit_of_a_second_attempt_is_a_multiple_of_what_the_model_uses(
    best: Walls, grade: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []
    init = session_module.Session.__init__

    def noting(self: object, *arguments: object, **keywords: object) -> None:
        if (limit_s := keywords.get("cpu_limit_s")) is not None:
            assert isinstance(limit_s, float)
            limits.append(limit_s)
        init(self, *arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(session_module.Session, "__init__", noting)
    monkeypatch.setattr(judge_module, "SECOND_CPU_S", 0.0)
    monkeypatch.setattr(judge_module, "REFERENCE_TIMES", 20)
    source = CALLED.format(body="    return sum(range(10**12))")
    assert grade(source, best, only=("equal-rates",)).status == "graded"
    measured = [used for (number, check, _), used in judge_module._reference_cpu_s.items() if check == "equal-rates"]
    assert min(measured) > 1e-4
    assert limits[-1] in [20 * used for used in measured]  # not limits[-1] / 20, which rounds
    monkeypatch.setattr(judge_module, "SECOND_CPU_S", 0.3)
    monkeypatch.setattr(judge_module, "REFERENCE_TIMES", 0)
    assert grade(source, best, only=("equal-rates",)).status == "graded"
    assert limits[-1] == 0.3


def test_wall_time_is_no_evidence(best: Walls, grade: Judge, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that waits ten minutes for a processor gets its points. One that waits a day is not graded."""
    slow = "def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):\n    for _ in range(5_000_000): pass\n"
    source = model.replace("def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):\n", slow)
    monkeypatch.setattr(session_module, "CALL_CPU_S", 0.05)
    for module in (session_module, watch_module):
        monkeypatch.setattr(module, "SAMPLE_S", 0.02)
    measured = session_module.ProcessWatch.wall_s
    for waited_s, status in ((600.0, "passed"), (86_400.0, "not graded")):

        def waited(watch: session_module.ProcessWatch, waited_s: float = waited_s) -> float:
            return measured(watch) if watch._pid is None else waited_s  # the start of the sandbox is no call

        monkeypatch.setattr(session_module.ProcessWatch, "wall_s", waited)
        (result,) = grade(source, best, only=("equal-rates",)).results
        assert result.status == status, result.got


@pytest.mark.parametrize(
    "body",
    [
        "    return sum(1 for _ in iter(int, 1))",
        "    return [x for x in iter(int, 1) if x]",
        "    return {x: 1 for x in iter(int, 1)}",
    ],
)
def test_steps_of_comprehensions_are_counted(body: str, best: Walls, grade: Judge) -> None:
    limits = Limits(steps_per_call=1_000_000)
    verdict = grade(CALLED.format(body=body), best, only=("equal-rates",), limits=limits)
    (result,) = verdict.results
    assert (verdict.status, result.status) == ("graded", "failed")
    assert "made 1,000,000 steps without returning" in result.got


def test_slow_code_that_ends_gets_its_points(best: Walls, grade: Judge, model: str) -> None:
    """A call that computes for half a second is counted as a suspect and gets its points."""
    slow = "def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):\n    for _ in range(8_000_000): pass\n"
    wasteful = model.replace("def four_hop_delay_ns(rtt_ns, data_bytes, ack_bytes, rates_bps):\n", slow)
    verdict = grade(wasteful, best, public_only=True)
    equal = next(result for result in verdict.results if result.id == "equal-rates")
    assert equal.status == "passed", text_report(verdict)


@pytest.mark.parametrize(
    "body",
    ["os._exit(0)", "import threading; x = threading.Lock(); x.acquire(); x.acquire()"],
    ids=["ends", "waits for ever"],
)
def test_nothing_is_left_running(body: str, around: Walls, grade: Judge) -> None:
    before = processes()
    grade(CALLED.format(body=f"    {body}"), around, only=("equal-rates",))
    assert [pid for pid in processes() - before if _is_ours(pid)] == []


def _is_ours(pid: int) -> bool:
    """Whether this process made the box of that process or of its ancestor. Other tests grade and kill at the same
    time.
    """
    box = f"{BOX}{own_mark()}-".encode()
    while pid > 1:
        if box in _command(pid):
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False  # it has ended
    return False


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def groups() -> dict[str, tuple[str, ...]]:
    """All attacks of this folder, by the attacker."""
    tests = Path(__file__).parent
    tried = {
        name: tuple(
            match.replace("_", " ")
            for match in re.findall(r"^def test_(\w+)\(", (tests / f"test_{name}.py").read_text("utf-8"), re.MULTILINE)
        )
        for name in ("fork_server", "walls", "places", "platforms", "receive", "texts")
    }
    containment = _load("test_containment")
    return {
        "In functions and imports": tuple(attack.name.replace("-", " ") for attack in ATTACKS),
        "In hooks": tuple(name.replace("-", " ") for name in HOOK_ATTACKS),
        "In returned values and exceptions": tuple(containment.RESULTS),
        "On the pipe": tuple(containment.STALLS),
        "On the part of the model solution that replaces a wrong part": tuple(_load("test_sandbox").TRICKS),
        "Attacks on the fork server and on other processes, and tests of properties that must hold": tried[
            "fork_server"
        ],
        "Attacks on the walls of the sandbox, and tests of properties that must hold": tried["walls"],
        "Attacks by names and archives, and tests of properties that must hold": tuple(
            case for name in ("places", "texts", "receive", "platforms") for case in tried[name]
        ),
    }


def test_the_docs_list_these_attacks() -> None:
    """`PACELAB_WRITE_DOCS=1 pytest grading/tests/test_attacks.py -k docs` rewrites the list."""
    page = Path(__file__).parents[2] / "docs" / "grading.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    wanted = f"{before}{START}\n{listed(groups())}{END}{after}"
    if "PACELAB_WRITE_DOCS" in os.environ:
        page.write_text(wanted, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == wanted
