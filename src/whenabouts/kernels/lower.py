"""Bound query -> program and compiled conditions.

Idea: lay out the tables from the automaton, compile every placed conjunct, and let the compiler discover on the way
which columns and registers are needed. Invariant: a program depends on the query and the schema only, never on data,
so it can be lowered once and used for every batch; workers lower the same plan again (machine code does not travel).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from whenabouts.errors import QueryError
from whenabouts.kernels import codegen as cg
from whenabouts.kernels.folds import compiled_fold
from whenabouts.kernels.program import EDGE, F64, I64, PART, POSITION, WAY, Program, Records, Tables
from whenabouts.plan import expressions as ex
from whenabouts.plan.automaton import START, may_be_bound
from whenabouts.plan.bound import Bound
from whenabouts.plan.placement import Check, Placement, place

MAX_STEPS = 62


@dataclass(frozen=True, slots=True)
class Conditions:
    """The compiled functions of a program, all of one signature (number, event, columns, registers)."""

    check: Callable[..., Any]  # may the event enter the position?
    bind: Callable[..., Any]  # update the registers for the step
    final: Callable[..., Any]  # may the match end here?
    forbid: Callable[..., Any]  # does the event count as the absent step?


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program with its machine code."""

    program: Program
    conditions: Conditions


def lower(bound: Bound, aggregates: Mapping[str, Any] | None = None) -> Lowered:
    """Lower a rewritten, bound query."""
    placement = place(bound)
    layout = cg.Layout(bound.schema, aggregates=_used(bound, aggregates or {}))
    steps = _step_order(bound)
    numbering = _number_conditions(placement)
    conditions = _compile(layout, placement, steps, numbering)
    tables = _tables(bound, placement, steps, numbering, layout)
    bound_steps = sum(not bound.steps[s].absent for s in steps)
    program = Program(placement, steps, bound_steps, tables, tuple(layout.derived.values()), layout.registers())
    return Lowered(program, conditions)


def _used(bound: Bound, aggregates: Mapping[str, Any]) -> dict[str, Any]:
    """The registered aggregates a query reads: no others need to compile."""
    roots = (*bound.query.where, *(m.expr for m in bound.query.measures))
    functions = {n.function for root in roots for n in ex.walk(root) if isinstance(n, ex.Aggregate)}
    return {name: aggregate for name, aggregate in aggregates.items() if name in functions}


def _step_order(bound: Bound) -> tuple[str, ...]:
    steps = [s for s, i in bound.steps.items() if not i.absent] + [s for s, i in bound.steps.items() if i.absent]
    if len(steps) > MAX_STEPS:
        raise QueryError("limit", f"a pattern may name at most {MAX_STEPS} steps; this one names {len(steps)}")
    return tuple(steps)


# --- conditions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Numbering:
    """Equal sets of checks share one number, so that unrolled closures do not repeat code."""

    checks: dict[tuple[str, tuple[Check, ...]], int]
    finals: dict[tuple[Check, ...], int]
    forbids: dict[str, int]


def _number_conditions(placement: Placement) -> _Numbering:
    checks: dict[tuple[str, tuple[Check, ...]], int] = {}
    finals: dict[tuple[Check, ...], int] = {}
    for q, group in placement.checks.items():
        if group:
            checks.setdefault((placement.automaton.steps[q], group), len(checks))
    for group in placement.finals.values():
        if group:
            finals.setdefault(group, len(finals))
    asking = [s for s, group in placement.forbids.items() if group]
    return _Numbering(checks, finals, {s: k for k, s in enumerate(asking)})


def _tests(layout: cg.Layout, current: str | None, checks: Iterable[Check]) -> list[ast.stmt]:
    """Statements that return False unless every applicable check is true."""
    body: list[ast.stmt] = []
    for c in checks:
        needs = cg.bound_test(layout, (*c.needs, *((current,) if c.after_first and current else ())))
        if c.only_first and current:
            needs += [cg.negation(t) for t in cg.bound_test(layout, (current,))]
        compiler = cg.Compiler(layout, current)
        test = cg.condition(compiler.value(item).code for item in ex.conjuncts(c.expr))
        body += [ast.If(cg.both(*needs), test, [])] if needs else test
    return body


def _compile(layout: cg.Layout, placement: Placement, steps: tuple[str, ...], numbering: _Numbering) -> Conditions:
    true: list[ast.stmt] = [ast.Return(cg.TRUE)]
    check = [_tests(layout, step, group) for step, group in numbering.checks]
    final = [_tests(layout, None, group) for group in numbering.finals]
    forbid = [_tests(layout, s, placement.forbids[s]) for s in numbering.forbids]
    bind = [_updates(layout, s) for s in steps]  # after the others: they say which registers exist
    names = _aggregate_functions(layout)
    return Conditions(
        cg.compile_function(cg.dispatch(check, true), cg.CONDITION, names) if check else _always(),
        cg.compile_function(cg.dispatch(bind, []), cg.UPDATE, names) if any(bind) else _nothing(),
        cg.compile_function(cg.dispatch(final, true), cg.CONDITION, names) if final else _always(),
        cg.compile_function(cg.dispatch(forbid, true), cg.CONDITION, names) if forbid else _always(),
    )


@lru_cache(maxsize=1)
def _always() -> Callable[..., Any]:
    return cg.compile_function([ast.Return(cg.TRUE)], cg.CONDITION, {})


@lru_cache(maxsize=1)
def _nothing() -> Callable[..., Any]:
    return cg.compile_function([ast.Pass()], cg.UPDATE, {})


def _aggregate_functions(layout: cg.Layout) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name, aggregate in layout.aggregates.items():
        names[f"step_{name}"], names[f"final_{name}"] = compiled_fold(aggregate)
    return names


def _updates(layout: cg.Layout, step: str) -> list[ast.stmt]:
    """Statements that make the registers remember event e as the next one of the step."""
    e = cg.name("e")
    body: list[ast.stmt] = []
    columns = {cg.column_key(d): d for d in layout.derived.values()}
    compiler = cg.Compiler(layout, step)

    def keep(array: str, slot: int, code: ast.expr) -> None:
        body.append(ast.Assign([ast.Subscript(ast.Name(array, ast.Load()), cg.const(slot), ast.Store())], code))

    counts = [r for r in layout.ints if r[0] in ("count", "icount")]
    others = [r for r in layout.ints if r[0] not in ("count", "icount")]
    for array, registers in (("rf", layout.floats), ("ri", others), ("ri", counts)):  # counts last: others read them
        for kind, owner, key in registers:
            if owner != step or kind.startswith("state:"):
                continue
            slot = (layout.float_register if array == "rf" else layout.int_register)(kind, owner, key)
            here = cg.item(array, cg.const(slot))
            if kind == "last":
                keep(array, slot, e)
            elif kind == "first":
                keep(array, slot, cg.choose(cg.compare(here, "<", cg.const(0)), e, here))
            elif kind == "count":
                keep(array, slot, cg.binary(here, ast.Add(), cg.const(1)))
            else:
                value = compiler.read_column(columns[key], e)
                body.append(_running_update(layout, kind, (array, slot), value, (owner, key)))
    body += _state_updates(layout, step, compiler, columns)
    return body


def _running_update(
    layout: cg.Layout, kind: str, where: tuple[str, int], value: cg.Value, owner: tuple[str, int]
) -> ast.stmt:
    array, slot = where
    here = cg.item(array, cg.const(slot))
    new = {
        "icount": lambda: cg.binary(here, ast.Add(), cg.const(1)),
        "sum": lambda: cg.increased(here, value),
        "wraps": lambda: cg.binary(here, ast.Add(), cg.call("carry", _sum_of(layout, owner), value.code)),
        "min": lambda: _better(layout, here, value, "<", owner),
        "max": lambda: _better(layout, here, value, ">", owner),
    }[kind]()
    store = ast.Assign([ast.Subscript(ast.Name(array, ast.Load()), cg.const(slot), ast.Store())], new)
    return ast.If(cg.negation(value.null), [store], []) if value.null is not None else store


def _sum_of(layout: cg.Layout, owner: tuple[str, int]) -> ast.expr:
    return cg.item("ri", cg.const(layout.int_register("sum", *owner)))


def _better(layout: cg.Layout, here: ast.expr, value: cg.Value, op: str, owner: tuple[str, int]) -> ast.expr:
    counted = cg.item("ri", cg.const(layout.int_register("icount", *owner)))
    first = cg.compare(counted, "=", cg.const(0))
    return cg.choose(cg.any_of([first, cg.compare(value.code, op, here)]), value.code, here)


def _state_updates(layout: cg.Layout, step: str, compiler: cg.Compiler, columns: Mapping[int, Any]) -> list[ast.stmt]:
    """Registered aggregates: one call that stores all parts of the state at once."""
    body: list[ast.stmt] = []
    seen = dict.fromkeys((k.split(":")[1], key) for k, s, key in layout.floats if k.startswith("state:") and s == step)
    for function, key in seen:
        size = len(layout.aggregates[function].init)
        slots = [layout.float_register(f"state:{function}:{j}", step, key) for j in range(size)]
        state = ast.Tuple([cg.item("rf", cg.const(s)) for s in slots], ast.Load())
        value = compiler.read_column(columns[key], cg.name("e"))
        stepped = cg.call(f"step_{function}", state, cg.call("float", value.code))
        targets = ast.Tuple(
            [ast.Subscript(ast.Name("rf", ast.Load()), cg.const(s), ast.Store()) for s in slots], ast.Store()
        )
        store = ast.Assign([targets], stepped)
        body.append(ast.If(cg.negation(value.null), [store], []) if value.null is not None else store)
    return body


def initial_registers(lowered: Lowered, aggregates: Mapping[str, Any] | None = None) -> tuple[I64, F64]:
    """Register values before anything is bound: no event (-1), zero counts, initial states."""
    registers = lowered.program.registers
    ints = np.array([-1 if kind in ("last", "first") else 0 for kind, _, _ in registers.ints], np.int64)
    floats = np.zeros(len(registers.floats), np.float64)
    for i, (kind, _, _) in enumerate(registers.floats):
        if kind.startswith("state:"):
            _, function, j = kind.split(":")
            floats[i] = (aggregates or {})[function].init[int(j)]
    return ints, floats


# --- tables ----------------------------------------------------------------------------------------------------------


def _records(kind: np.dtype[np.void], rows: Iterable[tuple[int, ...]]) -> Records:
    return np.array([tuple(r) for r in rows], kind)


def _bounds(groups: Iterable[Sized]) -> list[tuple[int, int]]:
    """Half-open ranges of groups laid end to end."""
    ends = list(accumulate((len(g) for g in groups), initial=0))
    return list(pairwise(ends))


def _tables(
    bound: Bound, placement: Placement, steps: tuple[str, ...], numbering: _Numbering, layout: cg.Layout
) -> Tables:
    automaton = placement.automaton
    bit = {s: i for i, s in enumerate(steps)}
    count = len(automaton.steps)
    by_source = [[e for e in automaton.edges if e.source == p] for p in (*range(count), START)]
    flat = [e for group in by_source for e in group]
    into = [[i for i, e in enumerate(flat) if e.target == p] for p in range(count)]
    ways = [[g for q, g in automaton.finals if q == p] for p in range(count)]
    chains = [[bit[s] for s in chain] for chain in automaton.absents]
    asks = [numbering.forbids.get(s, -1) for s in steps]
    asking = [g not in placement.late_guards and any(asks[b] >= 0 for b in chain) for g, chain in enumerate(chains)]
    single = [len(chain) == 1 and g not in placement.late_guards and not asking[g] for g, chain in enumerate(chains)]
    live_int, live_float = _liveness(placement, layout)
    outs, ins, ends = _bounds(by_source), [*_bounds(into), (0, 0)], [*_bounds(ways), (0, 0)]
    masks = [_mask(bit[automaton.steps[e.target]] for e in g) for g in by_source]
    alive = [bool(live_int[q].any() or live_float[q].any()) for q in range(count)]
    own = [(*_position(bound, placement, numbering, bit, q), int(alive[q])) for q in range(count)]
    rows = (
        (step, many, pattern, *outs[q], *ins[q], *ends[q], checked, final, remembers, masks[q])
        for q, (step, many, pattern, checked, final, remembers) in enumerate([*own, (-1, 0, -1, -1, -1, 0)])
    )
    guards = _bounds(e.guards for e in flat)
    return Tables(
        positions=_records(POSITION, rows),
        edges=_records(
            EDGE,
            (
                (
                    e.target,
                    count if e.source == START else e.source,
                    e.loop,
                    *g,
                    int(any(asking[x] for x in e.guards)),
                    int(all(single[x] for x in e.guards)),
                )
                for e, g in zip(flat, guards, strict=True)
            ),
        ),
        into=_array(i for g in into for i in g),
        guards=_array(g for e in flat for g in e.guards),
        ways=_records(WAY, _bounds(g for w in ways for g in w)),
        final_guards=_array(x for w in ways for g in w for x in g),
        parts=_records(PART, ((*b, int(g in placement.late_guards)) for g, b in enumerate(_bounds(chains)))),
        absent_bits=_array(b for c in chains for b in c),
        asks=_array(asks),
        live_int=live_int,
        live_float=live_float,
        remembering=_array([int(live_int.any() or live_float.any())]),
    )


def _position(
    bound: Bound, placement: Placement, numbering: _Numbering, bit: Mapping[str, int], q: int
) -> tuple[int, int, int, int, int]:
    step = placement.automaton.steps[q]
    checked = numbering.checks.get((step, placement.checks[q]), -1)
    final = numbering.finals.get(placement.finals.get(q, ()), -1)
    return bit[step], int(bound.steps[step].many), placement.automaton.pattern[q], checked, final


def _array(items: Iterable[int]) -> I64:
    return np.array(list(items), np.int64)


def _mask(bits: Iterable[int]) -> int:
    mask = 0
    for b in bits:
        mask |= 1 << b
    return mask


def _liveness(placement: Placement, layout: cg.Layout) -> tuple[I64, I64]:
    """Which registers a partial match must be told apart by: those some later condition reads.

    The `last` register of the position's own step is implied by the event itself. A register that is merely carried
    along because its own update reads it (a running sum) lives as long as some later condition reads it.
    """
    automaton = placement.automaton
    positions = len(automaton.steps)
    reads = _reads_by_position(placement, layout)
    live_int = np.zeros((positions, len(layout.ints)), np.int64)
    live_float = np.zeros((positions, len(layout.floats)), np.int64)
    later: dict[int, set[tuple[str, str, int]]] = {p: set(reads["final", p]) for p in range(positions)}
    changed = True
    while changed:
        changed = False
        for e in automaton.edges:
            if e.source == START:
                continue
            step = automaton.steps[e.target]
            overwritten = {r for r in later[e.target] if r[0] == "last" and r[1] == step}
            new = (later[e.target] - overwritten) | reads["check", e.target]
            if not new <= later[e.source]:
                later[e.source] |= new
                changed = True
    before = may_be_bound(automaton)
    for p in range(positions):
        own = ("last", automaton.steps[p], -1)
        touched = before[p] | {automaton.steps[p]}  # all other registers still have their first value
        for i, r in enumerate(layout.ints):
            live_int[p, i] = r in later[p] and r != own and r[1] in touched
        for i, r in enumerate(layout.floats):
            live_float[p, i] = r in later[p] and r[1] in touched
    return live_int, live_float


def _reads_by_position(placement: Placement, layout: cg.Layout) -> dict[tuple[str, int], set[tuple[str, str, int]]]:
    reads: dict[tuple[str, int], set[tuple[str, str, int]]] = {}
    for q, step in enumerate(placement.automaton.steps):
        reads["check", q] = _registers_read(placement.checks.get(q, ()), step, layout)
        reads["final", q] = _registers_read(placement.finals.get(q, ()), None, layout)
        if placement.automaton.absents:  # absent steps may read anything bound
            for checks in placement.forbids.values():
                reads["final", q] |= _registers_read(checks, None, layout)
    return reads


def _registers_read(checks: Iterable[Check], current: str | None, layout: cg.Layout) -> set[tuple[str, str, int]]:
    """Compile once more into a scratch layout that records what is touched."""
    scratch = cg.Layout(layout.schema, derived=dict(layout.derived), aggregates=layout.aggregates)
    _tests(scratch, current, checks)
    return {*scratch.ints, *scratch.floats}
