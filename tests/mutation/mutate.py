"""Small wrong versions of a source file, one changed expression each.

| found | becomes |
| --- | --- |
| `a + b`, `a * b`, `a // b`, `a << b`, `a & b`, ... (also `+=`) | the opposite operator |
| `a < b`, `a == b`, `a in b`, `a is b` | the neighbouring comparison (`<=`), and the opposite one (`>=`) |
| `a and b` | `a or b`, and the reverse |
| `not a`, `-a` | `a` |
| `if a:` with a plain `a` | `if not a:` |
| 3 | 4 and 2; large whole numbers and fractions are doubled; `True` becomes `False` |
| `min`, `maximum`, `ceil`, `any`, ... | `max`, `minimum`, `floor`, `all`, ... |
| `min(a, b)`, `np.maximum(a, b)` | `a`, and `b` (with the arguments swapped it would be the same) |
| `clip(x, low, high)` | `clip(x, high, low)` |

What cannot change a result is left alone: annotations, decorators, texts (so also the insides of f-strings, which are messages),
the type argument of `isinstance`, what is raised. A changed file has the lines of the old one: the new expression stands in
brackets, padded with empty lines, so that what coverage knows of lines stays true.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

_OPPOSITE: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
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
}
_PAIRS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("floor", "ceil"),
    ("any", "all"),
    ("fmin", "fmax"),
    ("argmin", "argmax"),
)
_OTHER = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
_CHOOSE_ONE = {"min", "max", "minimum", "maximum", "fmin", "fmax"}
_NO_EFFECT = {"annotation", "returns", "decorator_list", "bases", "pattern", "type_comment"}
_SMALL = 100  # whole numbers up to here are moved by one, larger ones are doubled


@dataclass(frozen=True)
class Mutant:
    """One changed piece of a file."""

    file: str
    lines: tuple[int, int]  # first and last, from 1
    statement: tuple[int, int]  # the same of the statement around it, without the block that it may open
    names: tuple[str, ...]  # what the statement binds if it runs at import: whoever reads them reaches it
    span: tuple[int, int]  # in bytes of the file
    after: str

    def apply(self, source: str) -> str:
        """The whole changed file."""
        data, (start, end) = source.encode(), self.span
        return data[:start].decode() + self.after + data[end:].decode()

    def shown(self, source: str) -> tuple[str, str]:
        """The changed lines before and after, for people; also a name that outlives line numbers."""
        data, (start, end) = source.encode(), self.span
        first = data.rfind(b"\n", 0, start) + 1
        stop = data.find(b"\n", end)
        head, tail = data[first:start].decode(), data[end : stop if stop >= 0 else len(data)].decode()
        return _one_line(head + data[start:end].decode() + tail), _one_line(head + self.after + tail)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def find(source: str, file: str) -> list[Mutant]:
    """All mutants of a file, in the order of the source; only those that compile, each once."""
    found: dict[tuple[tuple[int, int], str], Mutant] = {}
    for mutant in candidates(source, file):
        if _compiles(mutant.apply(source)):
            found.setdefault((mutant.span, mutant.after), mutant)
    return list(found.values())


def candidates(source: str, file: str) -> Iterator[Mutant]:
    """The same before anybody has tried whether they compile, which takes longest."""
    starts = [0]
    for line in source.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for place, node in _walk(ast.parse(source), _Place((1, 1))):
        for changed in _changes(node, place.condition):
            lines = (node.lineno, node.end_lineno)
            span = (starts[lines[0] - 1] + node.col_offset, starts[lines[1] - 1] + node.end_col_offset)
            padding = "\n" * (lines[1] - lines[0])
            text = ast.unparse(ast.fix_missing_locations(changed))
            after = f"({text}{padding})" if isinstance(node, ast.expr) else text + padding
            yield Mutant(file, lines, place.statement, place.names, span, after)


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


# -- where ---------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Place:
    statement: tuple[int, int]
    at_import: bool = True
    names: tuple[str, ...] = ()
    condition: bool = False  # the whole condition of an `if`, a `while` or a conditional expression


def _walk(node: ast.AST, place: _Place) -> Iterator[tuple[_Place, Any]]:
    """Every node that may be changed, with its place."""
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr):
        return
    if isinstance(node, ast.stmt):
        place = _Place(_header(node), place.at_import, _bound(node) if place.at_import else ())
    yield place, node
    place = replace(place, condition=False)
    for name, value in ast.iter_fields(node):
        if name in _NO_EFFECT or (name == "args" and _is_type_check(node)):
            continue
        inside = place
        if name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = _Place(place.statement, at_import=False)
        elif name == "test":
            inside = replace(place, condition=True)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, inside)


def _header(node: ast.stmt) -> tuple[int, int]:
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return node.lineno, node.end_lineno or node.lineno
    first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return node.lineno, max(node.lineno, first.lineno - 1)


def _bound(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (node.name,)
    targets = [*getattr(node, "targets", ()), *([node.target] if isinstance(node, ast.AnnAssign) else ())]
    return tuple(name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


def _is_type_check(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass")
    )


# -- what ----------------------------------------------------------------------------------------------------------------
def _changes(node: Any, condition: bool) -> Iterator[ast.AST]:
    match node:
        case ast.BinOp() | ast.AugAssign() if type(node.op) in _OPPOSITE and not _is_text(node):
            yield _with(node, op=_OPPOSITE[type(node.op)]())
        case ast.Compare():
            for i, old in enumerate(node.ops):
                for new in _COMPARISONS[type(old)]:
                    yield _with(node, ops=[*node.ops[:i], new(), *node.ops[i + 1 :]])
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant():
            yield from (ast.Constant(value) for value in _numbers(node.value))
        case ast.Call():
            yield from _calls(node)
    if condition and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node)


def _with(node: Any, **fields: Any) -> Any:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_text(node: ast.BinOp | ast.AugAssign) -> bool:
    """Joined texts and lists have no opposite: every test would fail, and nothing would be learned."""
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.value]
    texts = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp, ast.Dict)
    return any(
        isinstance(s, texts) or (isinstance(s, ast.Constant) and isinstance(s.value, str | bytes)) for s in sides
    )


def _numbers(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1) if abs(value) <= _SMALL else (2 * value,)
    elif isinstance(value, float):
        yield 2 * value if value else 1.0


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    name = (
        node.func.id
        if isinstance(node.func, ast.Name)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else ""
    )
    if name in _OTHER:
        yield _with(node, func=_with(node.func, **{"id" if isinstance(node.func, ast.Name) else "attr": _OTHER[name]}))
    plain = not any(isinstance(argument, ast.Starred) for argument in node.args)
    if name in _CHOOSE_ONE and plain and len(node.args) == 2:
        yield from node.args
    if name == "clip" and plain and len(node.args) >= 2:
        *others, low, high = node.args
        yield _with(node, args=[*others, high, low])
