"""Possible and undisturbed chains, found with NumPy, are those of positive confidence in fractions."""

import random
from fractions import Fraction
from itertools import product

import numpy as np

from benchmarks.feasible import chains, undisturbed
from whenabouts.kernels.reference.forbidden import Row, outcome

EVENTS = 8


def random_case(rng):
    """Classes of event numbers, which may share events; a half width and a window."""
    length = rng.choice([2, 3, 3, 4])
    classes = [np.array(sorted(rng.sample(range(EVENTS), rng.randint(1, 4)))) for _ in range(length)]
    return classes, rng.choice([0, 1, 2]), rng.randint(length - 1, EVENTS)


def by_definition(classes, half_width, span):
    """The chains of positive confidence: those in which nothing disturbs, and those of them nothing need disturb."""
    masses = [
        {t: Fraction(1, 2 * half_width + 1) for t in range(e - half_width, e + half_width + 1)} for e in range(EVENTS)
    ]
    possible, matches = [], []
    for chain in product(*(events.tolist() for events in classes)):
        nodes = [[event] for event in chain]
        if len(set(chain)) < len(chain) or outcome(masses, nodes, [], span) is None:
            continue
        possible.append(chain)
        others = [(int(x), j) for j, events in enumerate(classes) for x in events if j > 0 and x not in chain]
        rows = [Row(x, j - 1, from_last=True, high=j) for x, j in others]
        if outcome(masses, nodes, rows, span) is not None:
            matches.append(chain)
    return possible, matches


def test_chains_are_those_of_positive_confidence():
    rng, disturbed, found = random.Random(1), 0, 0
    for _ in range(120):
        classes, half_width, span = random_case(rng)
        possible, matches = by_definition(classes, half_width, span)
        ours = chains(classes, half_width, span)
        assert list(map(tuple, ours.tolist())) == possible
        kept = ours[undisturbed(ours, classes, half_width, span)]
        assert list(map(tuple, kept.tolist())) == matches
        found += len(matches)
        disturbed += len(possible) - len(matches)
    assert found > 100
    assert disturbed > 10
