"""Arithmetic of compiled conditions where machine arithmetic is not that of SQL.

Problem: whole numbers of 64 bits wrap around, and beyond 64 bits a value is NULL. Idea: one function gives the result
modulo 2^64, another says whether that is the result. Invariant: whole numbers wrap around as unsigned ones only: where
signed ones do, the compiler may assume anything (that a + b > 0 is a > -b).
"""

from __future__ import annotations

import numba
import numpy as np

_inlined = numba.njit(error_model="numpy", _nrt=False, forceinline=True)


@_inlined
def _remainder(a, b):
    """SQL's %: the sign of the dividend."""
    if -1 <= b <= 0:  # NULL; the quotient may not fit 64 bits
        return 0
    r = a % b
    return r - b if r != 0 and (r ^ a) < 0 else r


@_inlined
def _float_remainder(a, b):
    return np.fmod(a, b)


@_inlined
def _quotient(a, b):
    return np.nan if b == 0 else a / b


@_inlined
def _sum(a, b):
    return np.int64(np.uint64(a) + np.uint64(b))


@_inlined
def _difference(a, b):
    return np.int64(np.uint64(a) - np.uint64(b))


@_inlined
def _product(a, b):
    return np.int64(np.uint64(a) * np.uint64(b))


@_inlined
def _magnitude(a):
    return a if a >= 0 else _difference(0, a)


@_inlined
def _sum_beyond(a, b):
    """Whether a + b does not fit 64 bits: both signs differ from that of what is left."""
    s = _sum(a, b)
    return ((a ^ s) & (b ^ s)) < 0


@_inlined
def _difference_beyond(a, b):
    return ((a ^ b) & (a ^ _difference(a, b))) < 0


@_inlined
def _product_beyond(a, b):
    """What has wrapped around is 2^64 or more away from the product, and floats err by far less."""
    return abs(float(a) * float(b) - float(_product(a, b))) >= 2.0**63


@_inlined
def _carry(a, b):
    """How often a + b wraps around: upwards 1, downwards -1."""
    if not _sum_beyond(a, b):
        return 0
    return 1 if a >= 0 else -1


WRAPPING = {"+": ("sum", "sum_beyond"), "-": ("difference", "difference_beyond"), "*": ("product", "product_beyond")}
INLINED = {
    "remainder": _remainder,
    "quotient": _quotient,
    "float_remainder": _float_remainder,
    "sum": _sum,
    "sum_beyond": _sum_beyond,
    "difference": _difference,
    "difference_beyond": _difference_beyond,
    "product": _product,
    "product_beyond": _product_beyond,
    "magnitude": _magnitude,
    "carry": _carry,
}
