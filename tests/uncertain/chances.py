"""Random chains with forbidden regions: as fractions for the definition, as arrays for the kernels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from whenabouts.kernels.reference.forbidden import Row
from whenabouts.kernels.uncertain.times import Chains, Forbidders, Times

Mass = dict[int, Fraction]


@dataclass
class Case:
    masses: list[Mass] = field(default_factory=list)
    chain: list[list[int]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    span: int = -1


def uniform(lower: int, width: int) -> Mass:
    return {t: Fraction(1, width) for t in range(lower, lower + width)}


def random_mass(rng: random.Random, latest: int, widest: int) -> Mass:
    """Uniform, or dyadic with holes."""
    lower, width = rng.randrange(latest), rng.randint(1, widest)
    if rng.random() < 0.6:
        return uniform(lower, width)
    weights = [rng.choice((0, 1, 2, 5)) for _ in range(width)]
    weights[0], weights[-1] = weights[0] or 1, weights[-1] or 1
    rest = 1
    while rest < sum(weights):
        rest *= 2
    weights[0] += rest - sum(weights)
    return {lower + i: Fraction(w, rest) for i, w in enumerate(weights) if w}


def random_rows(rng: random.Random, event: int, nodes: int, *, lead: bool) -> list[Row]:
    """Disjoint rows of one event, in time order."""
    rows, at = [], -1 if lead and rng.random() < 0.3 else rng.randrange(nodes)
    while at < nodes and len(rows) < 3:
        high = min(at + rng.choice((1, 1, 1, 2)), nodes)
        if high == nodes and not (lead and rng.random() < 0.4):
            break
        closed = high < nodes and rng.random() < 0.2
        rows.append(Row(event, at, from_last=True, high=high, closed=closed))
        at = high + (1 if closed else rng.choice((0, 0, 1)))
        if rng.random() < 0.5:
            break
    return rows


def random_case(rng: random.Random, *, nodes: int = 4, width: int = 4, lead: bool = True, others: int = 5) -> Case:
    case = Case()
    length = rng.randint(1, nodes)
    spread = rng.randint(2, 3 + 2 * length)
    for j in range(length):
        case.masses.append({t + j: p for t, p in random_mass(rng, spread, width).items()})
        case.chain.append([j])
    for x in range(length, length + rng.randint(0, others)):
        case.masses.append(random_mass(rng, spread + length, width + 2))
        case.rows += random_rows(rng, x, length, lead=lead)
    case.span = -1 if rng.random() < 0.3 else rng.randint(0, spread + width)
    return case


def with_groups(rng: random.Random, case: Case) -> Case:
    """Some nodes get further members; some rows begin at a node's first instant."""
    for node in case.chain:
        for _ in range(rng.choice((0, 0, 1, 2))):
            mass = case.masses[node[0]]
            node.append(len(case.masses))
            case.masses.append(random_mass(rng, 1, 3))
            shift = min(mass) + rng.randint(-1, 1) - min(case.masses[-1])
            case.masses[-1] = {t + shift: p for t, p in case.masses[-1].items()}
    case.rows = [row._replace(from_last=row.low < 0 or rng.random() < 0.6) for row in case.rows]
    return case


def times_of_masses(masses: Sequence[Mass]) -> Times:
    """Segments of equal mass; the masses are dyadic or uniform, so the floats are as exact as they can be."""
    lower, upper, first, start, mass, before, behind = [], [], [0], [], [], [], []
    for pmf in masses:
        lo, hi = min(pmf), max(pmf)
        lower.append(lo)
        upper.append(hi)
        done = Fraction(0)
        last = None
        for t in range(lo, hi + 1):
            p = pmf.get(t, Fraction(0))
            if p != last:
                start.append(t)
                mass.append(float(p))
                before.append(float(done))
            done += p
            last = p
        ends = [*start[first[-1] + 1 :], hi + 1]
        behind += [float(sum(p for t, p in pmf.items() if t >= end)) for end in ends]
        first.append(len(start))
    i, f = np.int64, np.float64
    return Times(
        np.array(lower, i), np.array(upper, i), np.array(first, i), np.array(start, i), np.array(mass, f),
        np.array(before, f), np.array(behind, f),
    )  # fmt: skip


def arrays(cases: Sequence[Case]) -> tuple[Times, Chains, Forbidders]:
    """All cases as one batch; they must have the same window."""
    masses, members, node_ends, ends, rows, row_ends = [], [], [], [], [], []
    for case in cases:
        shift = len(masses)
        masses += case.masses
        for node in case.chain:
            members += [shift + e for e in node]
            node_ends.append(len(members))
        ends.append(len(node_ends))
        rows += [row._replace(event=row.event + shift) for row in case.rows]
        row_ends.append(len(rows))
    columns = np.array(rows, np.int64).reshape(-1, 5)
    i32 = np.int32
    return (
        times_of_masses(masses),
        Chains(np.array(ends, np.int64), np.array(node_ends, np.int64), np.array(members, i32)),
        Forbidders(
            np.array(row_ends, np.int64), columns[:, 0].astype(i32), columns[:, 1].astype(i32),
            columns[:, 2].astype(np.uint8), columns[:, 3].astype(i32), columns[:, 4].astype(np.uint8),
        ),
    )  # fmt: skip
