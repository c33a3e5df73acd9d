"""Where matches may lie, and when they are final: narrowing against all instants, one by one."""

import random
from collections import defaultdict

import numpy as np
import pytest

from tests.uncertain.chances import Case, arrays, random_case, with_groups
from whenabouts.kernels.reference.forbidden import Region, outcome
from whenabouts.kernels.signatures import compiled
from whenabouts.kernels.uncertain.forbidden import Effort
from whenabouts.kernels.uncertain.reach import AT_ONCE, NEVER, reaches
from whenabouts.kernels.uncertain.rules import rules
from whenabouts.kernels.uncertain.signatures_forbidden import REACHES
from whenabouts.kernels.uncertain.times import Regions
from whenabouts.kernels.uncertain.weighing import extents


def random_regions(rng: random.Random, nodes: int) -> list[Region]:
    regions = [Region(j, from_last=rng.random() < 0.8, high=j + 1) for j in range(nodes - 1) if rng.random() < 0.5]
    if rng.random() < 0.2:
        regions.append(Region(-1, from_last=True, high=rng.randrange(nodes)))
    if rng.random() < 0.2:
        regions.append(Region(rng.randrange(nodes), from_last=True, high=nodes))
    return regions


def agree(cases: list[Case], regions: list[list[Region]]) -> int:
    groups = defaultdict(list)
    for i, case in enumerate(cases):
        groups[case.span].append(i)
    possible = 0
    for span, indices in groups.items():
        ends = np.cumsum([len(regions[i]) for i in indices])
        columns = np.array([r for i in indices for r in regions[i]], np.int64).reshape(-1, 3)
        places = Regions(ends, columns[:, 0].astype("i4"), columns[:, 1].astype("u1"), columns[:, 2].astype("i4"))
        batch = arrays([cases[i] for i in indices])
        first, last, final = compiled(reaches, REACHES)(*batch, places, span, rules(), Effort())
        if batch[1].members.size == first.size:  # no groups
            for ours, theirs in zip(extents(*batch, places, span), (first, last, final), strict=True):
                assert np.array_equal(ours, theirs)
        ends = batch[1].ends
        for k, i in enumerate(indices):
            case, wanted = cases[i], regions[i]
            nodes = slice(ends[k - 1] if k else 0, ends[k])
            found = list(zip(first[nodes].tolist(), last[nodes].tolist(), strict=True))
            truth = outcome(case.masses, case.chain, case.rows, case.span, wanted)
            if truth is None:
                assert all(a > b for a, b in found), case
                continue
            possible += 1
            assert found == [tuple(node) for node in truth.nodes], case
            assert {NEVER: float("inf"), AT_ONCE: float("-inf")}.get(int(final[k]), final[k]) == truth.final, (
                case,
                wanted,
                truth.final,
                final[k],
            )
    return possible


@pytest.mark.parametrize("seed", range(3))
def test_ranges_and_final(seed: int) -> None:
    rng = random.Random(seed)
    cases = [random_case(rng) for _ in range(600)]
    assert agree(cases, [random_regions(rng, len(case.chain)) for case in cases]) > 100


@pytest.mark.parametrize("seed", range(2))
def test_groups(seed: int) -> None:
    rng = random.Random(50 + seed)
    cases = [with_groups(rng, random_case(rng, nodes=3, width=3)) for _ in range(300)]
    assert agree(cases, [random_regions(rng, len(case.chain)) for case in cases]) > 40
