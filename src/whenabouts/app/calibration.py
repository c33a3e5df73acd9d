"""Is a confidence what it says? The matches by confidence, beside the share of them that really happened.

Problem: of matches with confidence 0.7 about 70 % should have happened, but how far off is chance, not error?
Idea: matches that share no event happen or not independently of one another, so the number of those that happened
leaves the 95 % band of a binomial with their mean confidence in at most 1 of 20 cases (Hoeffding 1956: trials with
unequal chances scatter less). Under skip_till_next_match events outside make neighbouring matches a little dependent.
Invariant: which matches are counted depends on what was observed, never on what happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rich import box
from rich.console import Group
from rich.table import Table

from whenabouts.app.truth import Verdict
from whenabouts.simulate.observed import Signature, happened, signatures

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

BINS = 10
OUTSIDE = 0.05  # how often chance alone leaves the band, at most


@dataclass(frozen=True, slots=True)
class Bin:
    """Independent matches with a confidence from `low` to below `high` (or equal to it if it is 1)."""

    low: float
    high: float
    matches: int
    confidence: float  # their mean
    happened: int
    band: tuple[int, int]  # how many happen, in 19 of 20 cases, if confidences are right

    @property
    def share(self) -> float:
        return self.happened / self.matches

    @property
    def inside(self) -> bool:
        return self.band[0] <= self.happened <= self.band[1]


@dataclass(frozen=True, slots=True)
class Calibration:
    """How confidences compare with what happened: all matches in sum, independent ones in bins (those not empty)."""

    matches: int
    expected: float  # sum of all confidences
    happened: int
    unforeseen: int  # happened, but is not among the matches: none if every possible match was asked for
    bins: tuple[Bin, ...]

    @property
    def inside(self) -> int:
        """Number of bins in which as many happened as can be expected."""
        return sum(b.inside for b in self.bins)


def calibrated(matches: pa.Table, truth: pa.Table) -> Calibration:
    """Compare the confidences of a table of matches with the matches that really happened."""
    possible = signatures(matches)
    confidence = matches["confidence"].to_numpy()
    real = happened(possible, truth)
    alone = apart(possible, matches["match_id"].to_pylist())
    unforeseen = len(set(signatures(truth)).difference(possible))
    bins = reliability(confidence[alone], real[alone])
    return Calibration(len(possible), float(confidence.sum()), int(real.sum()), unforeseen, bins)


def trusting_verdict(returned: pa.Table, truth: pa.Table) -> Verdict:
    """What an engine without confidences found of the true matches, what it missed, and what it made up."""
    found, real = set(signatures(returned)), set(signatures(truth))
    return Verdict(len(found & real), len(real - found), len(found - real))


def apart(possible: Sequence[Signature], match_ids: Sequence[str]) -> list[int]:
    """Positions of matches no two of which share an event; the hash in a match id decides which ones come first."""
    taken: set[int] = set()
    chosen = []
    for position in sorted(range(len(possible)), key=match_ids.__getitem__):
        events = {event for _, ids in possible[position] for event in ids}
        if taken.isdisjoint(events):
            taken |= events
            chosen.append(position)
    return chosen


def reliability(confidence: Floats, real: Flags, bins: int = BINS) -> tuple[Bin, ...]:
    """The reliability table of independent matches; bins without any are left out."""
    edges = np.arange(bins + 1) / bins
    place = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, bins - 1)
    table = []
    for k in np.unique(place):
        here = place == k
        number, mean = int(here.sum()), float(confidence[here].mean())
        band = binomial_band(number, mean)
        table.append(Bin(float(edges[k]), float(edges[k + 1]), number, mean, int(real[here].sum()), band))
    return tuple(table)


def binomial_band(trials: int, chance: float, outside: float = OUTSIDE) -> tuple[int, int]:
    """Least and largest number of successes with more than half of `outside` at it and beyond it.

    These are the numbers for which the interval of Clopper and Pearson contains `chance`.
    """
    if chance <= 0 or chance >= 1:
        sure = trials if chance >= 1 else 0
        return sure, sure
    k = np.arange(trials)
    steps = np.log(trials - k) - np.log(k + 1) + np.log(chance) - np.log1p(-chance)
    mass = np.exp(trials * np.log1p(-chance) + np.concatenate([[0.0], np.cumsum(steps)]))
    upto, onward = np.cumsum(mass), np.cumsum(mass[::-1])[::-1]
    return int(np.argmax(upto > outside / 2)), int(np.flatnonzero(onward > outside / 2)[-1])


def render(calibration: Calibration) -> Group:
    """The reliability table for people, and what follows from it."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("confidence", no_wrap=True)
    for title in ("independent matches", "mean", "happened", "95 % band"):
        table.add_column(title, justify="right")
    table.add_column("inside", no_wrap=True)
    for b in calibration.bins:
        band = " to ".join(f"{count / b.matches:.1%}" for count in b.band)
        inside = "yes" if b.inside else "NO"
        table.add_row(
            f"{b.low:.1f} to {b.high:.1f}", f"{b.matches:,}", f"{b.confidence:.1%}", f"{b.share:.1%}", band, inside
        )
    return Group(table, conclusion(calibration))


def describe_trusting(verdict: Verdict) -> str:
    """What comes of trusting timestamps, in a sentence."""
    returned, real = verdict.found + verdict.invented, verdict.found + verdict.missed
    missing = (
        f"{verdict.missed:,} {'is' if verdict.missed == 1 else 'are'} missing" if verdict.missed else "none is missing"
    )
    return (
        f"An engine that trusts the timestamps returns {returned:,} matches: {verdict.invented:,} never happened, "
        f"and of the {real:,} that did, {missing}."
    )


def conclusion(calibration: Calibration) -> str:
    """The sums in a sentence."""
    sums = f"{calibration.happened:,} of {calibration.matches:,} possible matches happened"
    missing = f" {calibration.unforeseen:,} that happened are not among them." if calibration.unforeseen else ""
    bins = f"{calibration.inside} of {len(calibration.bins)} bins are inside the band"
    return f"{sums}, {calibration.expected:,.1f} were expected; {bins}.{missing}"
