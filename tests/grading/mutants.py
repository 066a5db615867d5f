"""Mutants of a text of Python: each differs from it in one place, by a slip that somebody could make."""

from __future__ import annotations

import ast
from collections.abc import Iterator

SWAPPED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Pow: (ast.Mult,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
NAMES = {"min": "max", "max": "min", "ceil": "floor", "round": "int", "all": "any", "any": "all"}
METHODS = {"popleft": "pop", "append": "appendleft"}


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """What was changed, and the text."""
    tree = ast.parse(source)
    for node in list(ast.walk(tree)):
        for change in _ways(node):
            told = _change(node, change)
            if told:
                yield f"line {getattr(node, 'lineno', 0)}: {told}", ast.unparse(ast.fix_missing_locations(tree))
            change.undo()


def _change(node: ast.AST, change: Change) -> str:
    """Change the node; what was done, empty for nothing."""
    before = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else ""
    change()
    if change.told:
        return change.told
    after = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else ""
    short = " ".join(after.split())[:60]
    return f"{' '.join(before.split())[:60]} -> {short}" if after != before else ""


def _ways(node: ast.AST) -> list[Change]:
    match node:
        case ast.Constant(value=bool(value)):
            return [Change(node, "value", not value)]
        case ast.Constant(value=int() | float() as value):
            others = (value + 1 if abs(value) < 100 else value * 1.1, value * 2, value * 0.9)
            return [Change(node, "value", other) for other in others if other != value]
        case ast.Compare(ops=[op, *_]):
            return [Change(node, "ops", [other(), *node.ops[1:]]) for other in SWAPPED.get(type(op), ())]
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op):
            return [Change(node, "op", other()) for other in SWAPPED.get(type(op), ())]
        case ast.UnaryOp(op=ast.Not()):
            return [Change(node, "operand", ast.UnaryOp(ast.Not(), node.operand))]
        case ast.Name(id=name) if name in NAMES:
            return [Change(node, "id", NAMES[name])]
        case ast.Attribute(attr=name) if name in METHODS:
            return [Change(node, "attr", METHODS[name])]
        case ast.If() | ast.IfExp():
            return [Change(node, "test", ast.Constant(value)) for value in (True, False)]
        case ast.Slice():
            return []
        case ast.FunctionDef() | ast.For() | ast.While():
            return _without(node)
    return []


def _without(node: ast.FunctionDef | ast.For | ast.While) -> list[Change]:
    """One statement less, for each that does something."""
    found = []
    for number, statement in enumerate(node.body):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        told = f"without {' '.join(ast.unparse(statement).split())[:60]}"
        found.append(Change(node, "body", [*node.body[:number], ast.Pass(), *node.body[number + 1 :]], told))
    return found


class Change:
    """A new value for a field of a node, when it is called, and until that is undone."""

    def __init__(self, node: ast.AST, name: str, value: object, told: str = "") -> None:
        self._node, self._name, self._value = node, name, value
        self._before = getattr(node, name)
        self.told = told

    def __call__(self) -> None:
        setattr(self._node, self._name, self._value)

    def undo(self) -> None:
        setattr(self._node, self._name, self._before)
