"""A stream of one attribute that rises from 1 to 1000 and starts again, for measurements with controlled properties.

Problem: speed depends on how many events are relevant and how many matches they make, which a real trace dictates.
Idea: event i is reported at time i, so a step that asks for multiples of v takes exactly every v-th event, whatever
the length of the stream; when the event happened is drawn from the interval around i (see `observed`).
Invariant: with the moduli below there are about a fifth as many matches as events, for every length of the pattern.
Reference: section 3.7.1 of the thesis and appendix C of the VLDB 2010 paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from whenabouts.simulate.observed import Observed

TOP = 1000

# Under skip_till_any_match, WITHIN W and exact time a pattern of n steps has, per event, about
# W ** (n - 1) / ((n - 1)! * v1 * ... * vn) matches. The thesis says that longer patterns keep matching but gives no
# numbers; these make it 0.18 to 0.22 for W = 100. As different primes, hardly ever do two steps want the same event.
MODULI: Mapping[int, tuple[int, ...]] = {
    2: (19, 29),
    3: (23, 29, 37),
    4: (23, 29, 31, 37),
    5: (19, 23, 29, 37, 43),
    6: (17, 19, 23, 29, 41, 43),
}


def simulate_sawtooth(events: int = 100_000, half_width: int = 10, seed: int = 0) -> Observed:
    """Events 1 to n with id, type, lower, upper (ticks) and value; times are at most `half_width` from the id."""
    if half_width < 0:
        raise ValueError(f"half_width is {half_width}, it must not be negative")
    number = np.arange(1, events + 1)
    true = number + np.random.default_rng(seed).integers(-half_width, half_width, size=events, endpoint=True)
    table = pa.table(
        {
            "id": number,
            "type": pa.repeat("E", events),
            "lower": number - half_width,
            "upper": number + half_width,
            "value": (number - 1) % TOP + 1,
        }
    )
    return Observed(table, pa.array(true), pa.array(number))


def sawtooth_query(
    moduli: Sequence[int] = MODULI[3], window: int = 100, strategy: Literal["any", "next"] = "any"
) -> str:
    """SEQ(E e1, …, E el), where the value of step j is a multiple of `moduli[j - 1]`."""
    names = [f"e{j}" for j in range(1, len(moduli) + 1)]
    multiples = (f"{name}.value % {modulus} = 0" for name, modulus in zip(names, moduli, strict=True))
    return f"""\
PATTERN SEQ({", ".join(f"E {name}" for name in names)})
WHERE {" AND ".join(multiples)} AND skip_till_{strategy}_match
WITHIN {window}"""
