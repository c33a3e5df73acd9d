"""The explicit signatures of the match loops.

Explicit, so that the loops are compiled once and found in the disk cache, and so that compiled conditions arrive as
first-class functions (one indirect call) instead of specialising the loop for every query.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, typeof, types

from whenabouts.kernels.codegen import CONDITION, UPDATE
from whenabouts.kernels.interrupts import uninterrupted
from whenabouts.kernels.program import EDGE, PART, POSITION, WAY, Tables
from whenabouts.kernels.ranked import Ranked
from whenabouts.kernels.types import Events, Limits, Output, Values

_i = np.zeros(1, np.int64)
_u = np.zeros(1, np.uint64)
_m = np.zeros((1, 1), np.int64)
_f = np.zeros((1, 1), np.float64)

_RECORDS = {"positions": POSITION, "edges": EDGE, "ways": WAY, "parts": PART}
_MATRICES = ("live_int", "live_float")
_TABLES: Any = {n: np.zeros(1, _RECORDS[n]) if n in _RECORDS else _m if n in _MATRICES else _i for n in Tables._fields}
TABLES = typeof(Tables(**_TABLES))
EVENTS = typeof(Events(_i, _u, _i, _i, _i, _i, _f, _m))
LIMITS = typeof(Limits(0, 0, 0, 0, 0))
OUTPUT = typeof(Output(_i, np.zeros(1, np.int32), np.zeros(1, np.uint8), _i))
CONDITION_TYPE = types.FunctionType(CONDITION)
UPDATE_TYPE = types.FunctionType(UPDATE)
INTS, FLOATS = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")

FUNCTIONS = (CONDITION_TYPE, UPDATE_TYPE, CONDITION_TYPE, CONDITION_TYPE)  # check, bind, final, forbid
FOLLOW = types.Tuple((OUTPUT, types.int64))(TABLES, EVENTS, LIMITS, types.int64, types.int64, *FUNCTIONS, INTS, FLOATS)
_b = np.zeros((1, 1), np.uint8)
VALUES = typeof(Values(_i, _m, _f, _b))
_WEIGHTS = (types.Array(types.int64, 2, "C"), types.Array(types.float64, 2, "C"))
WINDOW_TOTALS = types.Tuple(_WEIGHTS)(TABLES, EVENTS, LIMITS, VALUES)
GRAPH_TOTALS = types.Tuple((*_WEIGHTS, types.int64, types.int64))(
    TABLES, EVENTS, LIMITS, VALUES, *FUNCTIONS, INTS, FLOATS
)
RANKED = typeof(Ranked(0, 0, 0, _i, _i, _i, 0))
RANKED_TOTALS = types.Tuple((*_WEIGHTS, types.int64))(TABLES, EVENTS, LIMITS, RANKED)
COLLAPSE = OUTPUT(TABLES, EVENTS, LIMITS)
GRAPH = types.Tuple((OUTPUT, types.int64))(TABLES, EVENTS, LIMITS, types.int64, *FUNCTIONS, INTS, FLOATS)


@lru_cache
def compiled(function: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    """The machine code of a match loop, from the disk cache if it was ever compiled; not before it is first needed.

    Numba's cache watches the file of the loop, not those of the functions it calls, and would serve stale code after
    one of them changes. The name therefore carries a digest of the room, and only whole loops are cached.
    """
    loop = FunctionType(function.__code__, function.__globals__, function.__name__)
    loop.__qualname__ = f"{function.__name__}_{_digest()}"
    loop.__module__ = function.__module__
    return uninterrupted(njit(signature, cache=True)(loop))


@lru_cache
def _digest() -> str:
    """A digest of the sources of the kernels."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]
