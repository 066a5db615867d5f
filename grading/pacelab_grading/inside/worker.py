"""The loop that runs inside the sandbox and answers requests with the student's objects.

Nothing here protects anything: the student's code can change all of it. All it could gain is to send other answers, and
the grader checks every answer anyway.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import functools
import gc
import itertools
import operator
import os
import random
import sys
from collections import deque
from collections.abc import Callable, ItemsView, Iterator, KeysView, Sequence, ValuesView
from importlib.machinery import FileFinder, SourceFileLoader
from types import CoroutineType, GeneratorType, ModuleType
from typing import Any

from pacelab import (
    Drop,
    FlowKey,
    Forward,
    Point,
    RateSample,
    Rtp,
    Sample,
    Segment,
    SegmentSeen,
    TransmitResult,
    VoiceQuality,
)
from pacelab_grading.inside import wire

MODULE_NAME = "submission"
EXACT_NUMBERS = ("Decimal", "Fraction")
"""Types whose values are returned as floats."""
HELPERS = "helpers"
"""The folder of the student's own modules, next to the graded file."""
TICK = "__pacelab_tick__"
RAISED = {
    kind.__name__: kind
    for kind in (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError, ZeroDivisionError)
}
"""Exceptions of the reference that are raised here as well; all others become a RuntimeError."""
OUT_OF_MEMORY = {"type": "MemoryError", "kinds": "MemoryError Exception BaseException object", "text": "", "where": ""}
MAX_ACTIONS = 1000
"""Actions taken after one event; more means a hook that never ends."""
MOST_RAISED = 20
"""Exceptions of top-level statements that are reported."""
MOST_YIELDED = 1000
"""Values taken from an iterator; no check needs as many."""


def serve(
    path: str,
    requests: int,
    answers: int,
    *,
    limits: dict[str, int],
    user: int | None,
    file_rules: int | None,
    count_steps: bool,
) -> None:
    """Give up all rights, then answer until the pipe closes.

    `path` is the file to load, `requests` and `answers` are descriptors, `limits` are those of `box.Limits`, `user` is
    the user to change to, `file_rules` is the descriptor of Landlock's rules, if the kernel has Landlock.
    """
    if user is not None:  # this user will not be able to reach the folder by its path
        path = f"{_by_descriptor(os.path.dirname(path))}/{os.path.basename(path)}"
    guards = _confine(limits, user, file_rules)
    worker = Worker(path, answers, requests)
    if count_steps:
        worker.steps = StepCount(answers, limits["steps_per_call"])
    gc.enable()
    wire.write_all(answers, wire.encode([wire.HELLO, "ok", [wire.VERSION, guards]], wire.MAX_ANSWER_BYTES))
    with contextlib.suppress(EOFError):
        while True:
            header = wire.read_exactly(requests, wire.HEADER_BYTES)
            body = wire.read_exactly(requests, wire.body_bytes(header, wire.MAX_REQUEST_BYTES))
            worker.answer(wire.decode(body))
    os._exit(0)


class ReproducibleRandom(random.Random):
    """A stream that is the same at each grading, even without a seed."""

    _unseeded = itertools.count()

    def seed(self, a: Any = None, version: int = 2) -> None:
        """Like `random.Random`; without a seed, the number of earlier streams without a seed is the seed."""
        super().seed(next(self._unseeded) if a is None else a, version)


def make_random_reproducible() -> None:
    """Make all random numbers, of the global stream and of new streams, the same at each grading."""
    ReproducibleRandom._unseeded = itertools.count()
    shared = ReproducibleRandom()
    random.Random = ReproducibleRandom  # type: ignore[misc]
    for name in (name for name in vars(random) if getattr(getattr(random, name), "__self__", None) is random._inst):
        setattr(random, name, getattr(shared, name))


class StepCount:
    """Counts loop rounds and calls. Above the budget it reports that and ends the process, whatever is caught."""

    def __init__(self, answers: int, budget: int) -> None:
        self._answers = answers
        self._budget = budget
        self._left = budget
        self._nonce = ""

    def start(self, nonce: str) -> None:
        """Start counting for a call."""
        self._nonce = nonce
        self._left = self._budget

    def tick(self) -> None:
        """Count one step."""
        self._left -= 1
        if self._left < 0:
            code = sys._getframe(1)
            where = f"{code.f_code.co_name}, line {code.f_lineno}"
            wire.write_all(self._answers, wire.encode([self._nonce, "steps", where], wire.MAX_ANSWER_BYTES))
            os._exit(1)

    def instrument(self, source: str, name: str) -> ast.Module:
        """The module with a tick at the start of each loop body, function body and comprehension element."""
        setattr(builtins, TICK, self.tick)
        tree = ast.parse(source, name)
        for node in ast.walk(tree):
            if isinstance(node, ast.For | ast.While | ast.AsyncFor | ast.FunctionDef | ast.AsyncFunctionDef):
                call = ast.Expr(ast.Call(ast.Name(TICK, ast.Load()), [], []))
                ast.copy_location(call, node.body[0])
                node.body.insert(0, ast.fix_missing_locations(call))
            elif isinstance(node, ast.comprehension):
                # tick() returns None, so the first condition holds for each element.
                call_ = ast.Call(ast.Name(TICK, ast.Load()), [], [])
                condition = ast.Compare(call_, [ast.Is()], [ast.Constant(None)])
                ast.copy_location(condition, node.iter)
                node.ifs.insert(0, ast.fix_missing_locations(condition))
        return tree


class Worker:
    """Holds the student's module and objects."""

    def __init__(self, path: str, answers: int, requests: int) -> None:
        self._path = path
        self._answers = answers
        self._requests = requests
        self._nonce = ""
        self.ask: Callable[[list[Any]], Any] = self._ask
        self._module: ModuleType | None = None
        self._objects: list[Any] = []
        self.steps: StepCount | None = None
        self._raised: list[list[str]] = []
        """Type, text and place of the exceptions of top-level statements."""

    def answer(self, request: Any) -> None:
        """Carry out one request and write its answer."""
        frame = self.frame(request)
        wire.write_all(self._answers, frame)

    def frame(self, request: Any) -> bytes:
        """Carry out one request; its answer as a frame, or the error if the answer cannot be encoded."""
        answer = self.reply(request)
        try:
            return wire.encode(answer, wire.MAX_ANSWER_BYTES)
        except Exception as error:
            described = describe(error, "returning the result")
            return wire.encode([request[0], "raised", described], wire.MAX_ANSWER_BYTES)

    def reply(self, request: Any) -> list[Any]:
        """Carry out one request; its answer."""
        nonce, operation, *arguments = request
        self._nonce = nonce
        if self.steps is not None:
            self.steps.start(nonce)
        try:
            return [nonce, "ok", getattr(self, f"_op_{operation}")(*arguments)]
        except MemoryError as error:
            error.__traceback__ = None  # frees the objects of the code, so that there is memory for an answer
            return [nonce, "raised", OUT_OF_MEMORY]
        except BaseException as error:
            return [nonce, "raised", describe(error)]

    def _op_load(self) -> list[Any]:
        """Run the file; the names that it defines, and what its top-level statements raised."""
        with open(self._path, encoding="utf-8") as file:
            source = file.read()
        module = ModuleType(MODULE_NAME)
        name = module.__file__ = os.path.basename(self._path)
        sys.modules[MODULE_NAME] = module
        self._find_helpers()
        self.run(source, name, module.__dict__)
        self._module = module
        names = sorted(name for name, value in vars(module).items() if callable(value) and not name.startswith("_"))
        return [names, self._raised]

    def run(self, source: str, name: str, namespace: dict[str, Any]) -> None:
        """Run a file of the student, one top-level statement after the other.

        A statement that raises an exception costs only what depends on it, as a wrong function does. Each statement is
        compiled just before it runs, because it may be invalid (`return` outside a function). Steps are counted if this
        process counts.
        """
        _remember(name, source)
        tree = ast.parse(source, name) if self.steps is None else self.steps.instrument(source, name)
        future = 0
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                features = [getattr(__future__, alias.name, None) for alias in node.names]
                future |= functools.reduce(operator.or_, (getattr(item, "compiler_flag", 0) for item in features), 0)
            try:
                exec(compile(ast.Module([node], []), name, "exec", future, dont_inherit=True), namespace)
            except MemoryError:
                raise
            except (Exception, SystemExit) as error:
                if len(self._raised) < MOST_RAISED:
                    described = describe(error)
                    file = error.filename if isinstance(error, SyntaxError) and error.filename else name
                    place = f"{os.path.basename(file)}, {described['where']}"
                    self._raised.append([described["type"], described["text"], place])

    def _find_helpers(self) -> None:
        """Let the file import the student's own modules; Python's standard library takes precedence."""
        folder = os.path.join(os.path.dirname(self._path), HELPERS)
        if not os.path.isdir(folder) or folder in sys.path:
            return
        worker = self

        class Loader(SourceFileLoader):
            def exec_module(self, module: ModuleType) -> None:
                source = self.get_data(self.path).decode()
                worker.run(source, os.path.basename(self.path), module.__dict__)

        def hook(path: str) -> FileFinder:
            if path != folder and not path.startswith(folder + os.sep):
                raise ImportError(path)
            return FileFinder(path, (Loader, [".py"]))

        sys.path_hooks.insert(0, hook)
        sys.path.append(folder)

    def _op_borrow(self, parts: dict[str, list[str] | None]) -> None:
        """Replace names of the student's module by the reference's."""
        for name, methods in parts.items():
            setattr(self._module, name, self._function(name) if methods is None else self._class(name, methods))

    def _function(self, name: str, number: int | None = None) -> Callable[..., Any]:
        def borrowed(*arguments: Any, **keywords: Any) -> Any:
            given = {key: passed(value) for key, value in keywords.items()}
            return self._asked("call", number, name, [passed(value) for value in arguments], given)

        borrowed.__name__ = name
        return borrowed

    def _class(self, name: str, methods: Sequence[str]) -> type:
        worker = self

        class Borrowed:
            def __init__(self, *arguments: Any, **keywords: Any) -> None:
                given = {key: passed(value) for key, value in keywords.items()}
                self._number = worker._asked("new", name, given, [passed(value) for value in arguments])

            def __getattr__(self, attribute: str) -> Any:
                if attribute.startswith("_"):
                    raise AttributeError(attribute)
                if attribute in methods:
                    return worker._function(attribute, self._number)
                return worker._asked("get", self._number, attribute)

        Borrowed.__name__ = Borrowed.__qualname__ = name
        return Borrowed

    def _asked(self, *question: Any) -> Any:
        outcome, value = self.ask(list(question))
        if outcome == "ok":
            return revive(value)
        raise RAISED.get(value["type"], RuntimeError)(value["text"])

    def _ask(self, question: list[Any]) -> Any:
        wire.write_all(self._answers, wire.encode([self._nonce, "asks", question], wire.MAX_ANSWER_BYTES))
        header = wire.read_exactly(self._requests, wire.HEADER_BYTES)
        return wire.decode(wire.read_exactly(self._requests, wire.body_bytes(header, wire.MAX_REQUEST_BYTES)))

    def _op_new(self, name: str, keywords: dict[str, Any], arguments: Sequence[Any] = ()) -> int:
        values = [revive(value) for value in arguments]
        made = getattr(self._module, name)(*values, **{key: revive(value) for key, value in keywords.items()})
        self._objects.append(made)
        return len(self._objects) - 1

    def _op_call(self, number: int | None, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        owner = self._module if number is None else self._objects[number]
        values = [revive(value) for value in arguments]
        return json_value(getattr(owner, name)(*values, **{key: revive(value) for key, value in keywords.items()}))

    def _op_tell(self, number: int, name: str, arguments: list[Any], attribute: str) -> Any:
        completed(getattr(self._objects[number], name)(*[revive(value) for value in arguments]))
        return json_value(getattr(self._objects[number], attribute))

    def _op_get(self, number: int, name: str) -> Any:
        return json_value(getattr(self._objects[number], name))

    def _op_mask(self, number: int) -> int:
        return int(self._objects[number].event_mask)

    def _op_seen(self, number: int, now_ns: int, point: int, segment: list[Any], rates: list[int]) -> Any:
        hook = self._objects[number]
        return drain(hook, hook.handle(now_ns, SegmentSeen(Point(point), to_segment(segment), tuple(rates))))

    def _op_sent(
        self, number: int, now_ns: int, segment: list[Any], attempts: int, delivered: bool, to: int | None
    ) -> Any:
        hook = self._objects[number]
        return drain(hook, hook.handle(now_ns, TransmitResult(to_segment(segment), attempts, delivered, to)))

    def _op_timeout(self, number: int, now_ns: int) -> Any:
        hook = self._objects[number]
        return drain(hook, hook.handle_timeout(now_ns))

    def _op_counters(self, number: int) -> Any:
        return json_value(self._objects[number].counters())


def drain(hook: Any, returned: Any = None) -> list[Any]:
    """All actions of a hook with their names, and its deadline. `returned` is the result of the call before.

    Raises TypeError if that call returned actions and poll_action() has none: the simulator would not see them.
    """
    actions: list[list[Any]] = []
    completed(returned)
    while (action := completed(hook.poll_action())) is not None:
        if len(actions) >= MAX_ACTIONS:
            raise RuntimeError(f"poll_action() returned more than {MAX_ACTIONS} actions after one event, without None")
        actions.append([type(action).__name__, *(action if isinstance(action, tuple) else ())])
    if not actions and any(isinstance(item, Drop | Forward) for item in (returned, *_as_sequence(returned))):
        raise TypeError(f"{returned!r:.80} was returned: let poll_action() return it, one action at a time")
    deadline = completed(hook.deadline())
    if deadline is not None and not (isinstance(deadline, tuple | list) and len(deadline) > 1):
        raise TypeError(f"deadline() returned {deadline!r:.80}, not (at_ns, reason) or None")
    return [actions, None if deadline is None else [deadline[0], str(deadline[1])[:80]]]


def _as_sequence(value: Any) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else ()


def to_segment(fields: list[Any]) -> Segment:
    """A segment from its fields."""
    flow, rtp, quality = fields[1], fields[11], fields[12]
    fields[1] = FlowKey(*flow)
    if rtp is not None:
        fields[11] = Rtp(*rtp)
    if quality is not None:
        fields[12] = VoiceQuality(FlowKey(*quality[0]), *quality[1:])
    return Segment(*fields)


class Drawn(random.Random):
    """A stream that always draws the same number."""

    def __init__(self, drawn: float) -> None:
        super().__init__(0)
        self._drawn = drawn

    def random(self) -> float:
        """The number."""
        return self._drawn


def drawn_in_order(numbers: Sequence[float]) -> Callable[[], float]:
    """A function that returns these numbers, one per call, and raises RuntimeError when none is left."""
    left = iter(numbers)

    def uniform() -> float:
        for number in left:
            return number
        raise RuntimeError("too many random numbers were drawn: draw one for each packet, and only if p > 0")

    return uniform


def revive(value: Any) -> Any:
    """An argument for the student's code: tuples for lists, and objects for the special forms that JSON lacks."""
    if isinstance(value, list):
        return tuple(revive(item) for item in value)
    if isinstance(value, dict):
        if "$stream" in value:
            return random.Random(value["$stream"]).random
        if "$draws" in value:
            return drawn_in_order(value["$draws"])
        if "$random" in value:
            return Drawn(value["$random"])
        if "$list" in value:
            return [revive(item) for item in value["$list"]]
        if "$set" in value:
            return {revive(item) for item in value["$set"]}
        if "$sample" in value:
            return Sample(*value["$sample"])
        if "$rate_sample" in value:
            return RateSample(*value["$rate_sample"])
        if "$map" in value:
            return {revive(key): revive(item) for key, item in value["$map"]}
        if "$segment" in value:
            return to_segment(value["$segment"])
        if "$quality" in value:
            return VoiceQuality(FlowKey(*value["$quality"][0]), *value["$quality"][1:])
        return {key: revive(item) for key, item in value.items()}
    return value


def passed(value: Any) -> Any:
    """An argument for the reference, in the form that `revive` reads; sequences become tuples there."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {"$map": [[passed(key), passed(item)] for key, item in value.items()]}
    if isinstance(value, set | frozenset):
        return {"$set": [passed(item) for item in value]}
    item = getattr(value, "tolist", None)  # NumPy's arrays and scalars
    return passed(item()) if item is not None else [passed(item) for item in value]


def completed(result: Any) -> Any:
    """The result of a method. Raises TypeError if it has not run yet: of `async def`, or with `yield`."""
    if isinstance(result, CoroutineType | GeneratorType):
        result.close()  # otherwise Python warns with a path of the grader's machine
        raise TypeError(f"a {type(result).__name__} was returned where a plain value was asked for")
    return result


def json_value(value: Any, depth: int = 6) -> Any:
    """A result as JSON; of an iterator, the first `MOST_YIELDED` values. Raises TypeError for other objects."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth and isinstance(value, Iterator | KeysView | ValuesView | ItemsView | range):  # as in the labs' own checks
        return [json_value(item, depth - 1) for item in itertools.islice(value, MOST_YIELDED)]
    if depth and isinstance(value, list | tuple | deque):
        return [json_value(item, depth - 1) for item in value]
    if depth and isinstance(value, set | frozenset):
        return sorted((json_value(item, depth - 1) for item in value), key=repr)
    if depth and isinstance(value, dict):
        return [[json_value(key, depth - 1), json_value(item, depth - 1)] for key, item in value.items()]
    plain = getattr(value, "tolist", None)  # NumPy's arrays and scalars
    if plain is not None and depth:
        return json_value(plain(), depth - 1)
    if type(value).__name__ in EXACT_NUMBERS and hasattr(value, "as_integer_ratio"):
        return float(value)
    raise TypeError(f"a {type(completed(value)).__name__} was returned where a plain value was asked for")


def describe(error: BaseException, doing: str = "") -> dict[str, str]:
    """An exception as the student needs it: its text, and the place in the student's file."""
    import traceback  # `LocalSession` uses this module in processes that need no traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.endswith(".py") and os.sep not in frame.filename]
    where = "; ".join(f"line {frame.lineno} in {frame.name}: {frame.line}" for frame in own[-3:])
    if isinstance(error, SyntaxError):
        where = f"line {error.lineno}: {(error.text or '').strip()}"
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    if isinstance(error, ImportError) and error.path:
        text = text.replace(f" ({error.path})", "")  # a path of the grader's machine
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    described = {"type": type(error).__name__[:80], "kinds": kinds, "text": text, "where": where or doing}
    return {key: value[:600] for key, value in described.items()}


def _remember(name: str, source: str) -> None:
    """Make the lines of the file available to tracebacks."""
    import linecache

    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def _confine(limits: dict[str, int], user: int | None, file_rules: int | None) -> list[str]:
    """Lower all limits permanently, change the user, and give up all other rights; returns the guards that work."""
    import resource  # not on Windows, where `LocalSession` uses the rest of this module

    for name, value in (
        ("RLIMIT_AS", limits["memory_bytes"]),
        ("RLIMIT_FSIZE", limits["file_bytes"]),
        ("RLIMIT_NOFILE", limits["files"]),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_CPU", limits["cpu_s"]),
    ):
        _, most = resource.getrlimit(getattr(resource, name))
        lowered = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(getattr(resource, name), (lowered, lowered))
    held = []
    guards = guards_module()
    if guards is not None and file_rules is not None and guards.restrict_files(file_rules):
        held.append("landlock")
    if user is not None:
        _use_descriptors_for_paths()
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))  # no processes and no threads
    if guards is not None:
        guards.drop_capabilities()
        guards.die_with_parent()
        if guards.refuse_calls():
            held.append("seccomp")
    return held


def guards_module() -> ModuleType | None:
    """`inside.guards`, or None if this Python has no ctypes: then the other protection must suffice."""
    try:
        from pacelab_grading.inside import guards
    except ImportError:
        return None
    return guards


def _use_descriptors_for_paths() -> None:
    """Name the folders of modules by descriptors: another user cannot reach an interpreter in a home folder by path."""
    known = {path: _by_descriptor(path) for path in sys.path}
    sys.path[:] = known.values()
    for module in list(sys.modules.values()):
        for number, path in enumerate(getattr(module, "__path__", ())):
            top, _, rest = path.rpartition("/")
            if top in known:
                module.__path__[number] = f"{known[top]}/{rest}"


def _by_descriptor(path: str) -> str:
    try:
        return f"/proc/self/fd/{os.open(path, os.O_PATH | os.O_DIRECTORY)}"
    except OSError:
        return path
