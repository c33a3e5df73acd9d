"""The explicit signatures of the loops over uncertain times, for kernels/signatures.compiled."""

from __future__ import annotations

import numpy as np
from numba import typeof, types

from whenabouts.kernels.signatures import FLOATS, INTS
from whenabouts.kernels.uncertain.times import Chains, Times

_i = np.zeros(1, np.int64)
_f = np.zeros(1)

TIMES = typeof(Times(_i, _i, _i, _i, _f, _f, _f))
CHAINS = typeof(Chains(_i, _i, np.zeros(1, np.int32)))
CONFIDENCES = FLOATS(TIMES, CHAINS, types.int64, types.int64)
FEASIBLE_RANGES = types.Tuple((types.Array(types.uint8, 1, "C"), INTS, INTS))(TIMES, CHAINS, types.int64)
_table = types.Array(types.float64, 2, "C")
EXPECTED_TOTALS = _table(TIMES, INTS, INTS, _table, types.int64, types.int64, types.int64)
