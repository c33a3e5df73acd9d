"""Aggregates a user defines: registered once by name, then usable in query text like `avg`.

The functions must be plain arithmetic over floats, since the kernels compile them; nothing is compiled or called here.
Invariant: within a process a name always means the same code, so a query cannot change its meaning after it was parsed.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, MappingProxyType
from typing import Any

from whenabouts.errors import QueryError
from whenabouts.language.tokens import is_identifier
from whenabouts.plan.pattern import Strategy
from whenabouts.plan.typing import AGGREGATES, FUNCTIONS

State = tuple[float, ...]
MAX_STATE = 16


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """A fold over the values of a group: `step(state, value)` for each value that is not NULL, then `final(state)`."""

    name: str
    init: State
    step: Callable[[State, float], State]
    final: Callable[[State], float]


_REGISTERED: dict[str, UserAggregate] = {}
REGISTERED: Mapping[str, UserAggregate] = MappingProxyType(_REGISTERED)


def aggregate(
    name: str, *, init: State, step: Callable[[State, float], State], final: Callable[[State], float]
) -> UserAggregate:
    """Register an aggregate for use in queries, such as `name(b[].v)`, and return it.

    `step` and `final` must be functions Numba can compile. Registering the same code again is allowed and does nothing.
    """
    new = UserAggregate(_checked_name(name), _checked_state(init), step, final)
    _check_function(name, "step", step, 2)
    _check_function(name, "final", final, 1)
    old = _REGISTERED.setdefault(name, new)  # atomic: the first registration wins
    if not _same(old, new):
        raise QueryError(
            "duplicate-name",
            f"an aggregate named {name} with other code is registered already",
            hint="give it another name: queries that use the first one would change their meaning",
        )
    return old


def registered() -> dict[str, UserAggregate]:
    """All aggregates registered so far, by name."""
    return dict(_REGISTERED)


def is_aggregate(function: str) -> bool:
    """Whether a lower-case function name reads a group of events."""
    return function in AGGREGATES or function in REGISTERED


def _checked_name(name: object) -> str:
    if not (isinstance(name, str) and is_identifier(name) and name == name.lower()):
        raise QueryError("syntax", f"{name!r} cannot name an aggregate", hint="a lower-case identifier such as spread")
    if name in AGGREGATES or name in FUNCTIONS or name in set(Strategy):
        raise QueryError("duplicate-name", f"{name} is a function of the language already", hint="choose another name")
    return name


def _checked_state(init: object) -> State:
    fits = isinstance(init, tuple) and 0 < len(init) <= MAX_STATE
    if not fits or not all(type(value) is float and not math.isnan(value) for value in init):  # type: ignore[attr-defined]
        hint = f"one to {MAX_STATE} floats, such as init=(0.0, 0.0)"
        raise QueryError("type-mismatch", "init must be a tuple of floats", hint=hint)
    return init  # type: ignore[return-value]


def _check_function(name: str, role: str, function: object, arguments: int) -> None:
    takes = "(state, value)" if arguments == 2 else "(state)"
    if not isinstance(function, FunctionType):
        message = f"{role} of the aggregate {name} must be a Python function of {takes}"
        raise QueryError("type-mismatch", message, hint="a def or a lambda, not compiled yet")
    parameters = inspect.signature(function).parameters.values()
    plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters)
    if not plain or len(parameters) != arguments:
        raise QueryError("type-mismatch", f"{role} of the aggregate {name} must take exactly {takes}")


def _same(old: UserAggregate, new: UserAggregate) -> bool:
    try:
        return old.init == new.init and _code(old.step) == _code(new.step) and _code(old.final) == _code(new.final)
    except ValueError:  # captured arrays cannot be compared
        return False


def _code(function: Any) -> tuple[object, ...]:
    """What a function does, so that running a notebook cell twice is no redefinition."""
    code = function.__code__
    captured = tuple(cell.cell_contents for cell in function.__closure__ or ())
    names = {name: function.__globals__.get(name) for name in code.co_names}
    return code.co_code, code.co_consts, code.co_varnames, code.co_freevars, captured, names
