"""The slow twins: probability mass functions tick by tick, as exact fractions."""

from fractions import Fraction
from typing import NamedTuple


class Flat(NamedTuple):
    """Uniform on ticks that may be too many to list."""

    lower: int
    upper: int


def uniform(lower, upper):
    return {t: Fraction(1, upper - lower + 1) for t in range(lower, upper + 1)}


def triangular(lower, upper, peak=None):
    """The area below two straight lines that meet above the peak, over each tick [t, t + 1)."""
    width = Fraction(upper - lower + 1)
    top = width / 2 if peak is None else peak - lower + Fraction(1, 2)

    def area(x):  # from the left edge to x
        if x <= top:
            return x * x / (width * top)
        return 1 - (width - x) ** 2 / (width * (width - top))

    return {lower + i: area(Fraction(i + 1)) - area(Fraction(i)) for i in range(int(width))}


def listed(lower, upper, tick, masses):
    """Bins of whole ticks if that fits, else bins of units; each unit has its share of its bin."""
    masses = [Fraction(m) for m in masses]
    ticks = range(lower // tick, upper // tick + 1)
    if len(ticks) % len(masses) == 0:
        each = len(ticks) // len(masses)
        return {t: masses[i // each] / each for i, t in enumerate(ticks)}
    each, rest = divmod(upper - lower + 1, len(masses))
    if rest:
        return None
    found = dict.fromkeys(ticks, Fraction(0))
    for i in range(upper - lower + 1):
        found[(lower + i) // tick] += masses[i // each] / each
    return found


def support(pmf):
    return {t: m for t, m in pmf.items() if m > 0}


def of_segments(segments, event):
    """What the segments of an event say, tick by tick."""
    found = {}
    low, high = segments.first[event], segments.first[event + 1]
    for k in range(low, high):
        end = segments.start[k + 1] if k + 1 < high else segments.upper[event] + 1
        for t in range(segments.start[k], end):
            found[t] = segments.mass[k]
    return found
