"""Aggregates a user registered, as machine code.

Problem: Numba tells a function it cannot compile in pages about its own insides. Idea: compile `step` and `final` once,
for floats, before anything else uses them, and say in one sentence which of them is at fault.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import njit, types
from numba.core.errors import NumbaError

from whenabouts.errors import QueryError

HINT = "step and final must be plain arithmetic over floats, as Numba compiles it"


@lru_cache(maxsize=64)
def compiled_fold(aggregate: Any) -> tuple[Any, Any]:
    """`step` and `final` of a registered aggregate, compiled."""
    state = types.UniTuple(types.float64, len(aggregate.init))
    step, stepped = _compiled(aggregate, "step", (state, types.float64))
    final, result = _compiled(aggregate, "final", (state,))
    if not (isinstance(stepped, types.BaseTuple) and stepped.count == state.count and _numbers(stepped)):
        raise _refused(aggregate, "step", f"returns {stepped}, not {state.count} floats")
    if not isinstance(result, types.Number | types.Boolean):
        raise _refused(aggregate, "final", f"returns {result}, not a number")
    return step, final


def _compiled(aggregate: Any, role: str, signature: tuple[Any, ...]) -> tuple[Any, Any]:
    function = njit(getattr(aggregate, role))
    try:
        function.compile(signature)
    except NumbaError as error:
        raise _refused(aggregate, role, f"cannot be compiled: {_reason(error)}") from error
    return function, function.overloads[signature].signature.return_type


def _numbers(kinds: Any) -> bool:
    return all(isinstance(kind, types.Number | types.Boolean) for kind in kinds)


def _refused(aggregate: Any, role: str, what: str) -> QueryError:
    return QueryError("unsupported", f"{role} of the aggregate {aggregate.name} {what}", hint=HINT)


def _reason(error: NumbaError) -> str:
    """The first line of Numba's explanation that says something."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line and not line.startswith("Failed in")), type(error).__name__)[:200]
