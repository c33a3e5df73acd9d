"""A stream of one attribute that rises from 1 to 1000 and starts again, for measurements with controlled properties.

Problem: speed depends on how many events are relevant and how many matches they make, which a real trace dictates.
Idea: event i is reported at time i, so a step that asks for multiples of v takes exactly every v-th event, whatever
the length of the stream; when the event happened is drawn from the interval around i (see `observed`).
Invariant: of the moduli below, each density makes about as many matches per event for every length of the pattern.
Reference: section 3.7.1 of the thesis and appendix C of the VLDB 2010 paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from whenabouts.simulate.observed import Observed

TOP = 1000

Density = Literal["dense", "sparse", "rare"]

# Under skip_till_any_match, WITHIN W and exact time a pattern of n steps has, per event, about
# W ** (n - 1) / ((n - 1)! * v1 * ... * vn) matches. The thesis says that longer patterns keep matching but gives no
# numbers. For W = 100 dense moduli make 0.18 to 0.22 for every length, so that most of the work is output; sparse ones
# make 0.019 to 0.031. Wider intervals make more, above all of long patterns: sparse moduli 0.028, 0.036, 0.067, 0.15
# and 0.45 for 2 to 6 steps at a half width of 10. Rare ones make 0.004 to 0.01, nearest to the thesis: it goes through
# all instants of each match, a million for 3 steps at a half width of 50, and still finds that this costs little. As
# different primes, hardly ever do two steps want the same event.
MODULI: Mapping[Density, Mapping[int, tuple[int, ...]]] = {
    "dense": {
        2: (19, 29),
        3: (23, 29, 37),
        4: (23, 29, 31, 37),
        5: (19, 23, 29, 37, 43),
        6: (17, 19, 23, 29, 41, 43),
    },
    "sparse": {
        2: (67, 71),
        3: (61, 67, 71),
        4: (47, 53, 59, 67),
        5: (41, 43, 47, 53, 59),
        6: (31, 37, 41, 43, 47, 53),
    },
    "rare": {
        2: (211, 227),
        3: (113, 127, 131),
        4: (83, 89, 97, 101),
        5: (67, 71, 73, 79, 83),
        6: (47, 53, 59, 61, 67, 71),
    },
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
    moduli: Sequence[int] = MODULI["dense"][3], window: int = 100, strategy: Literal["any", "next"] = "any"
) -> str:
    """SEQ(E e1, …, E el), where the value of step j is a multiple of `moduli[j - 1]`."""
    names = [f"e{j}" for j in range(1, len(moduli) + 1)]
    multiples = (f"{name}.value % {modulus} = 0" for name, modulus in zip(names, moduli, strict=True))
    return f"""\
PATTERN SEQ({", ".join(f"E {name}" for name in names)})
WHERE {" AND ".join(multiples)} AND skip_till_{strategy}_match
WITHIN {window}"""
