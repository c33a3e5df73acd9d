"""The curves of uncertain times: uniform, triangular, normal.

Idea: a curve is two halves that meet at the peak and have the same height there. Measured from its tail, each half is
one and the same function on [0, 1]; the half from the left edge to the peak has the share (peak - left) / width of the
mass, so that an asymmetric error gives an asymmetric curve without a step at the peak.
Invariant: masses are products and sums, or differences of tails, which keep their relative precision far out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from whenabouts.events.schema import Shape

F64 = npt.NDArray[np.float64]


def mass_of_half(shape: Shape, low: F64, high: F64) -> F64:
    """The mass between two places of a half: 0 is the tail, 1 the peak, and the whole half has the mass 1."""
    if shape.kind == "uniform":
        return high - low
    if shape.kind == "triangular":
        return (high - low) * (high + low)
    tails = _tails(shape.sigmas, np.concatenate([low, high]))
    return np.asarray((tails[low.size :] - tails[: low.size]) / math.erf(shape.sigmas / math.sqrt(2)))


def _tails(sigmas: float, places: F64) -> F64:
    """Twice the mass of the standard normal beyond a place whose distance from the peak is (1 - place) * sigmas."""
    values, where = np.unique(places, return_inverse=True)
    scale = sigmas / math.sqrt(2)
    known: Any = np.array([math.erfc(scale * (1.0 - place)) for place in values.tolist()])
    return np.asarray(known[where])
