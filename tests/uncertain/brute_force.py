"""Section 1 of the spec of imprecise time, rule by rule: a second opinion on the reference for at most eight events.

Problem: a reference that runs the exact matcher in every world repeats that matcher's mistakes. Idea: list the groups
of events that could be a match by type alone, before any time is known; then, in every world, ask the rules M1 to M4
and N1 to N3 of each list, one function per rule.
Invariant: nothing of the package is imported. Patterns are data of this file and predicates Python functions, which are
told what was selected before: whole groups for M1, their members strictly before x for "relevant".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product


def always(*_):
    return True


@dataclass(frozen=True)
class Positive:
    """E_j; `test(prefix, mine, x)`: groups before, other members of the own group (`seq`:
    those before x), the event."""

    type: str
    kind: str = "single"  # or set, seq
    test: Callable = always


@dataclass(frozen=True)
class Negated:
    """N_g in front of E_g, counted from 0; `test(groups, x)`."""

    type: str
    gap: int
    test: Callable = always


@dataclass(frozen=True)
class Pattern:
    positive: tuple[Positive, ...]
    window: float  # W, or infinity
    following: bool  # skip till next match
    negated: tuple[Negated, ...] = ()
    final: Callable = always  # test(groups) of the complete match


def matches_in_worlds(pattern, events, pmfs):
    """{groups of positions: (confidence, instants in the order of the groups)}."""
    candidates = list(groups_by_type(pattern, events))
    found = {}
    for world in product(*pmfs):
        probability = math.prod((pmf[t] for pmf, t in zip(pmfs, world, strict=True)), start=Fraction(1))
        here = World(pattern, events, world)
        for groups in candidates:
            if here.accepts(groups):
                confidence, points = found.setdefault(groups, (Fraction(0), set()))
                points.add(tuple(world[x] for group in groups for x in group))
                found[groups] = confidence + probability, points
    return found


def groups_by_type(pattern, events, groups=()):
    """Disjoint non-empty groups B_1..B_l of the right types."""
    if len(groups) == len(pattern.positive):
        yield groups
        return
    component = pattern.positive[len(groups)]
    taken = {x for group in groups for x in group}
    free = [x for x, e in enumerate(events) if e["type"] == component.type and x not in taken]
    most = 1 if component.kind == "single" else len(free)
    arrangement = permutations if component.kind == "seq" else combinations
    for size in range(1, most + 1):
        for group in arrangement(free, size):
            yield from groups_by_type(pattern, events, (*groups, group))


@dataclass(frozen=True)
class World:
    pattern: Pattern
    events: list
    time: tuple

    def accepts(self, groups):
        rules = [self.m2, self.m3, self.m1, self.m4]
        if self.pattern.following:
            rules.append(self.nothing_relevant_left_out)
        return all(rule(groups) for rule in rules)

    def first(self, group):
        return min(self.time[x] for x in group)

    def last(self, group):
        return max(self.time[x] for x in group)

    def outside(self, groups):
        return set(range(len(self.events))) - {x for group in groups for x in group}

    def shown(self, groups):
        return tuple(tuple(self.events[x] for x in group) for group in groups)

    def m1(self, groups):
        for j, (component, group) in enumerate(zip(self.pattern.positive, groups, strict=True)):
            for i, x in enumerate(group):
                mine = group[:i] if component.kind == "seq" else group[:i] + group[i + 1 :]
                if not component.test(self.shown(groups[:j]), *self.shown([mine]), self.events[x]):
                    return False
        return self.pattern.final(self.shown(groups))

    def m2(self, groups):
        behind = all(self.last(b) < self.first(c) for b, c in pairwise(groups))
        ordered = (
            self.time[x] < self.time[y]
            for component, group in zip(self.pattern.positive, groups, strict=True)
            if component.kind == "seq"
            for x, y in pairwise(group)
        )
        return behind and all(ordered)

    def m3(self, groups):
        return self.last(groups[-1]) - self.first(groups[0]) <= self.pattern.window - 1

    def m4(self, groups):
        r, m, w = self.first(groups[0]), self.last(groups[-1]), self.pattern.window
        for n in self.pattern.negated:
            for x in self.outside(groups):
                t = self.time[x]
                if n.gap == 0:
                    inside = m - w + 1 <= t < r
                elif n.gap == len(groups):
                    inside = m < t <= r + w - 1
                else:
                    inside = self.last(groups[n.gap - 1]) < t < self.first(groups[n.gap])
                if inside and self.events[x]["type"] == n.type and n.test(self.shown(groups), self.events[x]):
                    return False
        return True

    def nothing_relevant_left_out(self, groups):
        rule = {"single": self.n1, "set": self.n2, "seq": self.n3}
        return all(rule[component.kind](groups, j) for j, component in enumerate(self.pattern.positive))

    def p(self, groups, j):
        return self.first(groups[j - 1])

    def q(self, groups, j):
        return self.first(groups[j + 1]) if j + 1 < len(groups) else self.first(groups[0]) + self.pattern.window

    def relevant(self, groups, j, mine, low, high):
        """Events outside the match, strictly between low and high, that E_j could have taken."""
        component = self.pattern.positive[j]
        for x in self.outside(groups):
            if low < self.time[x] < high and self.events[x]["type"] == component.type:
                *before, own = ([y for y in group if self.time[y] < self.time[x]] for group in (*groups[:j], mine))
                if component.test(self.shown(before), *self.shown([own]), self.events[x]):
                    return True
        return False

    def n1(self, groups, j):
        return j == 0 or not self.relevant(groups, j, (), self.p(groups, j), self.first(groups[j]))

    def n2(self, groups, j):
        low = self.p(groups, j) if j else self.first(groups[0])
        return not self.relevant(groups, j, groups[j], low, self.q(groups, j))

    def n3(self, groups, j):
        own = groups[j]
        if j and self.relevant(groups, j, (), self.p(groups, j), self.time[own[0]]):
            return False
        ends = [*(self.time[x] for x in own), self.q(groups, j)]
        return not any(self.relevant(groups, j, own[: i + 1], ends[i], ends[i + 1]) for i in range(len(own)))
