"""Conditions over several events -> machine code.

Problem: a predicate must cost nanoseconds inside the match loop, and nothing a user wrote may be executed as text.
Idea: typed expression nodes become Python syntax-tree nodes (never source text), which Numba compiles to functions of
fixed signature; the generic match loops receive them as first-class functions and stay in the disk cache.
Three-valued logic: every expression yields a value and the condition under which it is NULL; a boolean that is NULL has
the value False. A whole number that does not fit 64 bits and a float that is NaN are NULL. Whatever reads a single
event only is not compiled at all: it is a derived column (see `columns`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numba
from numba import types

from whenabouts.errors import UnsupportedError
from whenabouts.events.schema import DType, Schema
from whenabouts.kernels.arithmetic import INLINED, WRAPPING
from whenabouts.kernels.program import NULL_INT, Derived, Registers
from whenabouts.plan import expressions as ex
from whenabouts.plan.expressions import Expr, Pick
from whenabouts.plan.typing import infer

_I64, _F64 = types.int64, types.float64
_FLOATS, _INTS = types.CPointer(_F64), types.CPointer(_I64)
CONDITION = types.boolean(_I64, _I64, _I64, _FLOATS, _INTS, _INTS, _FLOATS)
UPDATE = types.void(_I64, _I64, _I64, _FLOATS, _INTS, _INTS, _FLOATS)
_PARAMETERS = ("k", "e", "n", "F", "I", "ri", "rf")  # case, event, events; columns end to end; registers


@dataclass(frozen=True, slots=True)
class Value:
    """A compiled expression: its value, and when it is NULL (None: never)."""

    code: ast.expr
    dtype: DType
    null: ast.expr | None = None
    besides: ast.expr | None = None  # the same, apart from NaN, if `carries`
    carries: bool = False  # NULL wherever the value is NaN: arithmetic keeps it NaN, and tests it once at the end

    @property
    def unseen(self) -> ast.expr | None:
        """When it is NULL without the value showing it by being NaN."""
        return self.besides if self.carries else self.null


@dataclass(slots=True)
class Layout:
    """The derived columns and registers that compiled conditions turned out to need, in order of first use."""

    schema: Schema
    derived: dict[tuple[Expr, DType], Derived] = field(default_factory=dict)
    ints: list[tuple[str, str, int]] = field(default_factory=list)
    floats: list[tuple[str, str, int]] = field(default_factory=list)
    aggregates: dict[str, Any] = field(default_factory=dict)  # registered aggregates by name

    def column(self, expr: Expr) -> Derived:
        erased = ex.transform(expr, _erase)
        dtype = infer(erased, self.schema)
        found = self.derived.get((erased, dtype))
        if found is None:
            in_floats = sum(d.dtype is DType.FLOAT for d in self.derived.values())
            slot = in_floats if dtype is DType.FLOAT else len(self.derived) - in_floats
            found = self.derived[erased, dtype] = Derived(erased, dtype, slot)
        return found

    def int_register(self, kind: str, step: str, column: int = -1) -> int:
        return _slot(self.ints, (kind, step, column))

    def float_register(self, kind: str, step: str, column: int = -1) -> int:
        return _slot(self.floats, (kind, step, column))

    def registers(self) -> Registers:
        return Registers(tuple(self.ints), tuple(self.floats))


def _slot(slots: list[tuple[str, str, int]], key: tuple[str, str, int]) -> int:
    if key not in slots:
        slots.append(key)
    return slots.index(key)


def _erase(node: Expr) -> Expr:
    return ex.Attribute("", node.name) if isinstance(node, ex.Attribute) else node


# --- small constructors of syntax-tree nodes -------------------------------------------------------------------------


def name(identifier: str) -> ast.expr:
    return ast.Name(identifier, ast.Load())


def const(value: float) -> ast.expr:
    return ast.Constant(value)


def item(array: str, index: ast.expr) -> ast.expr:
    return ast.Subscript(name(array), index, ast.Load())


def cell(matrix: str, slot: int, row: ast.expr) -> ast.expr:
    """The entry of a derived column; the columns lie one behind the other, n entries each."""
    start = binary(const(slot), ast.Mult(), name("n"))
    return item(matrix, binary(start, ast.Add(), row) if slot else row)


TRUE, FALSE = ast.Constant(value=True), ast.Constant(value=False)
_COMPARE = {"<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "=": ast.Eq, "!=": ast.NotEq}
_ARITHMETIC = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult}


def compare(left: ast.expr, op: str, right: ast.expr) -> ast.expr:
    return ast.Compare(left, [_COMPARE[op]()], [right])


def either(*items: ast.expr | None) -> ast.expr | None:
    found = [i for i in items if i is not None]
    return None if not found else found[0] if len(found) == 1 else ast.BoolOp(ast.Or(), found)


def both(*items: ast.expr) -> ast.expr:
    return items[0] if len(items) == 1 else ast.BoolOp(ast.And(), list(items))


def negation(code: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), code)


def binary(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
    return ast.BinOp(left, op, right)


def choose(test: ast.expr, then: ast.expr, otherwise: ast.expr) -> ast.expr:
    return ast.IfExp(test, then, otherwise)


def call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(name(function), list(arguments), [])


# --- expressions -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Compiler:
    """Compiles expressions as seen when the step `current` is about to bind event `e` (None: nothing is)."""

    layout: Layout
    current: str | None

    def value(self, expr: Expr) -> Value:
        hoisted = self._one_event(expr)
        if hoisted is not None:
            return self.read(expr, hoisted)
        method = self._METHODS.get(type(expr))
        if method is None:
            raise UnsupportedError(
                "unsupported",
                f"{type(expr).__name__.upper()} over several events is not supported",
                span=expr.span,
                hint="apply it to one event at a time, or use comparisons and arithmetic",
            )
        return method(self, expr)

    def _one_event(self, expr: Expr) -> ex.Attribute | None:
        """The event reference if the whole expression reads exactly one event."""
        found: ex.Attribute | None = None
        for node in ex.walk(expr):
            if isinstance(node, ex.Aggregate):
                return None
            if isinstance(node, ex.Attribute):
                if found is not None and (found.step, found.pick) != (node.step, node.pick):
                    return None
                found = node
        return found

    def row(self, where: ex.Attribute) -> ast.expr:
        """The index of the event an attribute reads; callers make sure that it is bound."""
        step, pick = where.step, where.pick
        if step == self.current and pick in (Pick.CURRENT, Pick.LAST):
            return name("e")
        if pick is Pick.FIRST:
            first = item("ri", const(self.layout.int_register("first", step)))
            return choose(compare(first, "<", const(0)), name("e"), first) if step == self.current else first
        return item("ri", const(self.layout.int_register("last", step)))

    def read(self, expr: Expr, where: ex.Attribute) -> Value:
        return self.read_column(self.layout.column(expr), self.row(where))

    def read_column(self, column: Derived, row: ast.expr) -> Value:
        if column.dtype is DType.FLOAT:
            code = cell("F", column.slot, row)
            return floating(code)
        code = cell("I", column.slot, row)
        null = compare(code, "=", const(NULL_INT))
        if column.dtype is DType.BOOL:
            return Value(compare(code, "=", const(1)), column.dtype, null)
        return Value(code, column.dtype, null)

    def _literal(self, expr: ex.Literal) -> Value:
        value = expr.value
        if value is None:
            return Value(const(0), DType.NULL, TRUE)
        if isinstance(value, str):
            raise UnsupportedError(
                "unsupported", "a string constant cannot be combined with strings of several events", span=expr.span
            )
        dtype = DType.BOOL if isinstance(value, bool) else DType.INT if isinstance(value, int) else DType.FLOAT
        return Value(const(value), dtype)

    def _arithmetic(self, expr: ex.Arithmetic) -> Value:
        left, right = self.value(expr.left), self.value(expr.right)
        unknown = either(left.unseen, right.unseen)
        if expr.op == "/":
            return floating(call("quotient", left.code, right.code), unknown)
        if DType.FLOAT in (left.dtype, right.dtype):
            if expr.op == "%":
                return floating(call("float_remainder", call("float", left.code), call("float", right.code)), unknown)
            return floating(binary(left.code, _ARITHMETIC[expr.op](), right.code), unknown)
        if expr.op == "%":
            zero = compare(right.code, "=", const(0))
            return Value(call("remainder", left.code, right.code), left.dtype, either(unknown, zero))
        if self._times_apart(expr):
            return Value(binary(left.code, ast.Sub(), right.code), left.dtype, unknown)
        wrapped, beyond = WRAPPING[expr.op]
        beyond_range = call(beyond, left.code, right.code)
        return Value(call(wrapped, left.code, right.code), left.dtype, either(unknown, beyond_range))

    def _times_apart(self, expr: ex.Arithmetic) -> bool:
        """Whether two events' times are subtracted: they are less than 2^62, so the difference fits."""
        time = self.layout.schema.roles.lower
        return expr.op == "-" and all(isinstance(x, ex.Attribute) and x.name == time for x in (expr.left, expr.right))

    def _negate(self, expr: ex.Negate) -> Value:
        inner = self.value(expr.operand)
        if inner.dtype is DType.FLOAT:
            return replace(inner, code=ast.UnaryOp(ast.USub(), inner.code))
        return _signed(call("difference", const(0), inner.code), inner)

    def _compare(self, expr: ex.Compare) -> Value:
        left, right = self.value(expr.left), self.value(expr.right)
        return _comparison(expr.op, left, right)

    def _and(self, expr: ex.And) -> Value:
        items = [self.value(i) for i in expr.items]
        false = [both(negation(v.code), negation(v.null)) if v.null else negation(v.code) for v in items]
        null = either(*(v.null for v in items))
        unknown = both(null, negation(any_of(false))) if null is not None else None
        return Value(both(*(v.code for v in items)), DType.BOOL, unknown)

    def _or(self, expr: ex.Or) -> Value:
        items = [self.value(i) for i in expr.items]
        true = any_of([v.code for v in items])
        null = either(*(v.null for v in items))
        return Value(true, DType.BOOL, both(null, negation(true)) if null is not None else None)

    def _not(self, expr: ex.Not) -> Value:
        inner = self.value(expr.operand)
        code = negation(inner.code)
        return Value(both(code, negation(inner.null)) if inner.null else code, DType.BOOL, inner.null)

    def _in(self, expr: ex.In) -> Value:
        options: list[Expr] = [ex.Compare("=", expr.operand, i) for i in expr.items]
        any_of: Expr = options[0] if len(options) == 1 else ex.Or(tuple(options))
        return self.value(ex.Not(any_of) if expr.negated else any_of)

    def _is_null(self, expr: ex.IsNull) -> Value:
        inner = self.value(expr.operand)
        null = inner.null or FALSE
        return Value(negation(null) if expr.negated else null, DType.BOOL)

    def _call(self, expr: ex.Call) -> Value:
        if expr.function == "abs":
            inner = self.value(expr.arguments[0])
            if inner.dtype is DType.FLOAT:
                return replace(inner, code=call("abs", inner.code))
            return _signed(call("magnitude", inner.code), inner)
        if expr.function in ("least", "greatest"):
            values = [self.value(a) for a in expr.arguments]
            best = values[0]
            for v in values[1:]:
                op = "<" if expr.function == "least" else ">"
                picked = _either_value(best, v, op)
                best = picked
            return best
        raise UnsupportedError(
            "unsupported",
            f"{expr.function}() over several events is not supported",
            span=expr.span,
            hint="apply functions to one event at a time; abs, least and greatest may combine events",
        )

    def _aggregate(self, expr: ex.Aggregate) -> Value:
        return compile_aggregate(self, expr)

    _METHODS: Any = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self._METHODS = {
            ex.Literal: Compiler._literal,
            ex.Arithmetic: Compiler._arithmetic,
            ex.Negate: Compiler._negate,
            ex.Compare: Compiler._compare,
            ex.And: Compiler._and,
            ex.Or: Compiler._or,
            ex.Not: Compiler._not,
            ex.In: Compiler._in,
            ex.IsNull: Compiler._is_null,
            ex.Call: Compiler._call,
            ex.Aggregate: Compiler._aggregate,
        }


def any_of(items: Sequence[ast.expr]) -> ast.expr:
    return items[0] if len(items) == 1 else ast.BoolOp(ast.Or(), list(items))


def floating(code: ast.expr, unknown: ast.expr | None = None) -> Value:
    """A float that is NULL if it is NaN, or for another reason."""
    return Value(code, DType.FLOAT, either(unknown, compare(code, "!=", code)), unknown, carries=True)


def _signed(code: ast.expr, inner: Value) -> Value:
    """A whole number with another sign than `inner`; the least one has no counterpart."""
    return Value(code, inner.dtype, either(inner.null, compare(inner.code, "=", const(NULL_INT))))


def _comparison(op: str, left: Value, right: Value) -> Value:
    test = either(*(v.null if op == "!=" else v.unseen for v in (left, right)))  # NaN is unequal, and nothing else
    code = compare(left.code, op, right.code)
    null = either(left.null, right.null)
    return Value(both(code, negation(test)) if test is not None else code, DType.BOOL, null)


def _either_value(a: Value, b: Value, op: str) -> Value:
    """least/greatest ignore NULL, as in Spark and PostgreSQL."""
    dtype = DType.FLOAT if DType.FLOAT in (a.dtype, b.dtype) else a.dtype
    take_a = compare(a.code, op, b.code)
    if b.null is not None:
        take_a = any_of([b.null, take_a])
    if a.null is not None:
        take_a = both(negation(a.null), take_a)
    null = both(a.null, b.null) if a.null is not None and b.null is not None else None
    return Value(choose(take_a, a.code, b.code), dtype, null)


# --- aggregates ------------------------------------------------------------------------------------------------------


def argument_step(expr: ex.Aggregate) -> str:
    """The one step an aggregate ranges over."""
    assert expr.argument is not None  # noqa: S101 - count(*) never reaches a condition
    (step,) = ex.steps_of(expr.argument)
    return step


def compile_aggregate(compiler: Compiler, expr: ex.Aggregate) -> Value:
    """An aggregate from its registers; the candidate event is included unless only earlier elements are meant."""
    layout, step = compiler.layout, argument_step(expr)
    assert expr.argument is not None  # noqa: S101
    picks = {a.pick for a in ex.attributes(expr.argument)}
    include = step == compiler.current and Pick.EACH_BEFORE not in picks
    if isinstance(expr.argument, ex.Attribute) and expr.argument.name is None:
        count = item("ri", const(layout.int_register("count", step)))
        return Value(binary(count, ast.Add(), const(1)) if include else count, DType.INT)
    column = layout.column(expr.argument)
    candidate = compiler.read_column(column, name("e")) if include else None
    counted = item("ri", const(layout.int_register("icount", step, column_key(column))))
    if candidate is not None:
        counted = binary(counted, ast.Add(), choose(candidate.null or FALSE, const(0), const(1)))
    if expr.function == "count":
        return Value(counted, DType.INT)
    empty = compare(counted, "=", const(0))
    if expr.function in layout.aggregates:
        return _registered(layout, expr.function, step, column, candidate, empty)
    if expr.function in ("sum", "avg"):
        added = choose(candidate.null or FALSE, const(0), candidate.code) if candidate is not None else None
        total = _total if column.dtype is DType.FLOAT else _whole_total
        of_all, mean = total(layout, step, column, added)
        if expr.function == "sum":
            return Value(of_all.code, of_all.dtype, either(empty, of_all.null))
        return floating(binary(mean, ast.Div(), choose(empty, const(1), counted)), empty)
    if expr.function in ("min", "max"):
        extreme = _running(layout, expr.function, step, column)
        if candidate is not None:
            before = binary(counted, ast.Sub(), choose(candidate.null or FALSE, const(0), const(1)))
            better = compare(candidate.code, "<" if expr.function == "min" else ">", extreme)
            take = both(negation(candidate.null or FALSE), any_of([compare(before, "=", const(0)), better]))
            extreme = choose(take, candidate.code, extreme)
        return Value(extreme, column.dtype, empty)
    raise UnsupportedError("unsupported", f"{expr.function}() cannot be used here", span=expr.span)


def _total(layout: Layout, step: str, column: Derived, added: ast.expr | None) -> tuple[Value, ast.expr]:
    """The running sum of floats, as it is and as what an average divides."""
    code = _running(layout, "sum", step, column)
    code = code if added is None else binary(code, ast.Add(), added)
    return floating(code), code


def _whole_total(layout: Layout, step: str, column: Derived, added: ast.expr | None) -> tuple[Value, ast.expr]:
    """The same of whole numbers: one register holds the sum modulo 2^64, another how often it has wrapped around."""
    wraps = item("ri", const(layout.int_register("wraps", step, column_key(column))))  # updated first: it reads the sum
    code = _running(layout, "sum", step, column)
    if added is not None:
        wraps, code = binary(wraps, ast.Add(), call("carry", code, added)), call("sum", code, added)
    exact = binary(call("float", code), ast.Add(), binary(wraps, ast.Mult(), const(2.0**64)))
    return Value(code, column.dtype, compare(wraps, "!=", const(0))), exact


def increased(total: ast.expr, value: Value) -> ast.expr:
    """A running sum after one more value."""
    return binary(total, ast.Add(), value.code) if value.dtype is DType.FLOAT else call("sum", total, value.code)


def column_key(column: Derived) -> int:
    """One number for a column of either matrix."""
    return column.slot * 2 + (column.dtype is DType.FLOAT)


def _running(layout: Layout, what: str, step: str, column: Derived) -> ast.expr:
    if column.dtype is DType.FLOAT:
        return item("rf", const(layout.float_register(what, step, column_key(column))))
    return item("ri", const(layout.int_register(what, step, column_key(column))))


def _registered(
    layout: Layout, function: str, step: str, column: Derived, candidate: Value | None, empty: ast.expr
) -> Value:
    size = len(layout.aggregates[function].init)
    slots = [layout.float_register(f"state:{function}:{j}", step, column_key(column)) for j in range(size)]
    state: ast.expr = ast.Tuple([item("rf", const(s)) for s in slots], ast.Load())
    if candidate is not None:
        stepped = call(f"step_{function}", state, call("float", candidate.code))
        state = choose(candidate.null, state, stepped) if candidate.null is not None else stepped
    result = call(f"final_{function}", state)
    return Value(result, DType.FLOAT, either(empty, compare(result, "!=", result)))


# --- functions -------------------------------------------------------------------------------------------------------


def condition(tests: Iterable[ast.expr]) -> list[ast.stmt]:
    """Return False as soon as a test fails."""
    return [ast.If(negation(t), [ast.Return(FALSE)], []) for t in tests]


def dispatch(cases: Sequence[list[ast.stmt]], last: list[ast.stmt]) -> list[ast.stmt]:
    """if k == 0: … elif k == 1: …, each case ending on its own."""
    body: list[ast.stmt] = []
    for k, case in enumerate(cases):
        body.append(ast.If(compare(name("k"), "=", const(k)), case or [ast.Pass()], []))
    return [*body, *last]


def bound_test(layout: Layout, steps: Iterable[str]) -> list[ast.expr]:
    return [compare(item("ri", const(layout.int_register("last", s))), ">=", const(0)) for s in steps]


def compile_function(body: list[ast.stmt], signature: Any, names: dict[str, Any]) -> Callable[..., Any]:
    """Compile a syntax tree to machine code; `names` are the only globals the code can see."""
    arguments = ast.arguments([], [ast.arg(p) for p in _PARAMETERS], None, [], [], None, [])
    function = ast.FunctionDef("generated", arguments, body, [], None)
    module = ast.fix_missing_locations(ast.Module([function], []))
    scope: dict[str, Any] = {"abs": abs, "float": float, **INLINED, **names}
    exec(compile(module, "<whenabouts>", "exec"), scope)  # noqa: S102 - built from typed nodes, holds no user text
    return numba.njit(signature, error_model="numpy", _nrt=False)(scope["generated"])
