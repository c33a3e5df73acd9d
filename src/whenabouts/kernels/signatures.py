"""The explicit signatures of the match loops.

Explicit, so that the loops are compiled once and found in the disk cache, and so that compiled conditions arrive as
first-class functions (one indirect call) instead of specialising the loop for every query.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit, types, typeof

from whenabouts.kernels.codegen import CONDITION, UPDATE
from whenabouts.kernels.program import EDGE, PART, POSITION, WAY, Tables
from whenabouts.kernels.types import Events, Limits, Output

_i = np.zeros(1, np.int64)
_u = np.zeros(1, np.uint64)
_m = np.zeros((1, 1), np.int64)
_f = np.zeros((1, 1), np.float64)

_RECORDS = {"positions": POSITION, "edges": EDGE, "ways": WAY, "parts": PART}
_MATRICES = ("live_int", "live_float")
TABLES = typeof(
    Tables(**{n: np.zeros(1, _RECORDS[n]) if n in _RECORDS else _m if n in _MATRICES else _i for n in Tables._fields})
)
EVENTS = typeof(Events(_i, _u, _i, _i, _i, _i, _f, _m))
LIMITS = typeof(Limits(0, 0, 0, 0, 0))
OUTPUT = typeof(Output(_i, _i, _i, _i))
CONDITION_TYPE = types.FunctionType(CONDITION)
UPDATE_TYPE = types.FunctionType(UPDATE)
INTS, FLOATS = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")

FUNCTIONS = (CONDITION_TYPE, UPDATE_TYPE, CONDITION_TYPE, CONDITION_TYPE)  # check, bind, final, forbid
FOLLOW = types.Tuple((OUTPUT, types.int64))(
    TABLES, EVENTS, LIMITS, types.int64, types.int64, *FUNCTIONS, INTS, FLOATS
)
GRAPH = types.Tuple((OUTPUT, types.int64))(TABLES, EVENTS, LIMITS, types.int64, *FUNCTIONS, INTS, FLOATS)


@lru_cache
def compiled(function: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    """The machine code of a match loop, from the disk cache if it was ever compiled; not before it is first needed."""
    return njit(signature, cache=True)(function)
