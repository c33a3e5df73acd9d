"""Sums of polynomials over many ticks, from few of them.

Problem: a sum over a cell of a million ticks, on each of which the summand is a polynomial, must not cost a million.
Idea: the discrete Gauss rule. The polynomials orthogonal under summation over 0..N-1 (Gram) have the recurrence
b_n = n^2 (1 - n^2/N^2) / (4 n^2 - 1) on [-1, 1], so the nodes of its Q-point rule are analytic in 1/N^2 down to N = 2Q
and are tabulated as Chebyshev series; below that the ticks themselves are the rule. Values are kept at Chebyshev points
rounded to ticks. Invariant: weights are positive, and a rule of Q points is exact up to degree 2Q-1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from whenabouts.kernels.program import F64
from whenabouts.kernels.types import leaf

POINTS = 24  # of a rule at most
NODES = 40  # values kept per cell at most
WIDE = NODES * NODES // 2 + 1  # a cell of more ticks never keeps them all
TERMS = 20


class Rules(NamedTuple):
    series: F64  # [points, point, node or weight, degree]
    cosines: F64  # [nodes, node]: where the nodes are in 0..1


@lru_cache
def rules() -> Rules:
    """The tables, made once per process in some milliseconds."""
    series = np.zeros((POINTS + 1, POINTS, 2, TERMS))
    samples = np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)
    fit = np.polynomial.chebyshev.chebvander(samples, TERMS - 1).T * (2 / TERMS)
    fit[0] /= 2
    for points in range(1, POINTS + 1):
        epsilon = (samples + 1) / (8 * points * points)
        n = np.arange(1, points)
        beta = n**2 * (1 - np.multiply.outer(epsilon, n**2)) / (4 * n**2 - 1)
        matrices = np.zeros((TERMS, points, points))
        matrices[:, n - 1, n] = matrices[:, n, n - 1] = np.sqrt(beta)
        nodes: F64 = np.linalg.eigvalsh(matrices).astype(np.float64)
        series[points, :points, 0] = (fit @ nodes).T
        series[points, :points, 1] = (fit @ gauss_weights(nodes, beta)).T
    cosines = np.full((NODES + 1, NODES), 0.5)
    for count in range(2, NODES + 1):
        cosines[count, :count] = (1 - np.cos(np.pi * np.arange(count) / (count - 1))) / 2
    return Rules(series, cosines)


def gauss_weights(nodes: F64, beta: F64) -> F64:
    """One over the sum of squares of the orthonormal polynomials."""
    before, now = np.zeros_like(nodes), np.ones_like(nodes)
    squares = np.ones_like(nodes)
    for n in range(beta.shape[1]):
        down = np.sqrt(beta[:, n - 1, None]) * before if n else before
        before, now = now, (nodes * now - down) / np.sqrt(beta[:, n, None])
        squares += now * now
    return 1 / squares


@leaf
def rule_size(width, degree):
    """How many points sum a polynomial of this degree over so many ticks."""
    points = min((degree + 2) >> 1, POINTS)
    return width if width <= 2 * points else points


@leaf
def rule_point(rules, width, points, g):
    """Point g of the rule (ticks from the start) and its weight."""
    if points == width:
        return float(g), 1.0
    y = 16.0 * points * points / (float(width) * float(width)) - 2.0
    node, weight, node_1, weight_1 = 0.0, 0.0, 0.0, 0.0
    for n in range(TERMS - 1, 0, -1):  # Clenshaw's sum, with y twice the argument
        node, node_1 = y * node - node_1 + rules.series[points, g, 0, n], node
        weight, weight_1 = y * weight - weight_1 + rules.series[points, g, 1, n], weight
    node = 0.5 * y * node - node_1 + rules.series[points, g, 0, 0]
    weight = 0.5 * y * weight - weight_1 + rules.series[points, g, 1, 0]
    return 0.5 * (width - 1) + 0.5 * width * node, weight * width


@leaf
def is_smooth(width, nodes):
    """Whether so few values stand for the cell; a polynomial may be wild between ticks if there are not enough."""
    return width > 2 * nodes and 2 * width > nodes * nodes


@leaf
def node_tick(rules, width, nodes, r):
    """The tick of node r."""
    return np.int64(np.floor((width - 1) * rules.cosines[nodes, r] + 0.5))
