"""The explicit signatures of the loops over chains with forbidden regions."""

from __future__ import annotations

import numpy as np
from numba import typeof, types

from whenabouts.kernels.uncertain.forbidden import Effort
from whenabouts.kernels.uncertain.rules import Rules
from whenabouts.kernels.uncertain.times import Chains, Forbidders, Regions, Times

_i, _f = np.zeros(1, np.int64), np.zeros(1)
_e, _b = np.zeros(1, np.int32), np.zeros(1, np.uint8)

TIMES = typeof(Times(_i, _i, _i, _i, _f, _f, _f))
CHAINS = typeof(Chains(_i, _i, _e))
FORBIDDERS = typeof(Forbidders(_i, _e, _e, _b, _e, _b))
RULES = typeof(Rules(np.zeros((1, 1, 1, 1)), np.zeros((1, 1))))
EFFORT = typeof(Effort())
FLOATS, KINDS = types.Array(types.float64, 1, "C"), types.Array(types.uint8, 1, "C")

CONFIDENCES = types.Tuple((FLOATS, FLOATS, KINDS))(TIMES, CHAINS, FORBIDDERS, types.int64, RULES, EFFORT)
QUICK_CONFIDENCES = types.Tuple((FLOATS, KINDS))(TIMES, CHAINS, FORBIDDERS, types.int64, EFFORT)
REGIONS = typeof(Regions(_i, _e, _b, _e))
TICKS = types.Array(types.int64, 1, "C")
REACHES = types.Tuple((TICKS, TICKS, TICKS))(TIMES, CHAINS, FORBIDDERS, REGIONS, types.int64, RULES, EFFORT)
QUICK_REACHES = types.Tuple((TICKS, TICKS, TICKS, KINDS))(TIMES, CHAINS, FORBIDDERS, REGIONS, types.int64)
MEMBER_RANGES = types.Tuple((TICKS, TICKS))(TIMES, CHAINS, FORBIDDERS, TICKS, TICKS, types.int64, RULES, EFFORT)
