"""All matches by enumeration: an independent second opinion on docs/semantics.md for at most eight events.

Problem: the reference grows prefixes with partial derivatives; a mistake in that idea would not show in tests against
itself. Idea: try every labelling of every set of events in strictly increasing time with step names, and accept it by
conditions on the complete assignment. Whether a word of step names belongs to the pattern is asked of the pattern by
cutting the word into pieces; absent parts are checked by one regular expression over the word and the gaps around it;
strategies are conditions of the form "no event strictly between".
Invariant: nothing is imported from the reference, expressions are evaluated here again.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise, permutations, product

from whenabouts.plan import expressions as ex
from whenabouts.plan.pattern import Absent, AllOf, Choice, Closure, Repeat, Sequence, Step, Strategy, walk_pattern

# ---------------------------------------------------------------------------------------------- words of step names


@dataclass(frozen=True)
class Word:
    """A word of step names, read as (the beginning of) a pattern.

    `stops` are pairs (position, label): the closure that was going on there takes no further element from there on.
    """

    steps: tuple[str, ...]
    stops: frozenset[tuple[int, str]]
    shortest: bool
    known: dict = field(default_factory=dict, compare=False)

    def member(self, p, i, j, path="."):
        """Whether steps[i:j] is a complete word of p, which stands at `path`."""
        key = (path, i, j)
        if key not in self.known:
            self.known[key] = self.find_member(p, i, j, path)
        return self.known[key]

    def find_member(self, p, i, j, path):
        match p:
            case Step(_, name):
                return self.steps[i:j] == (name,)
            case Absent():
                return i == j
            case Sequence(parts):
                return any(True for _ in self.cuts(parts, i, j, path))
            case Choice(parts):
                return any(self.member(q, i, j, f"{path}{n}.") for n, q in enumerate(parts))
            case AllOf():
                return any(self.member(s, i, j, where) for s, where in orders(p, path))
            case Repeat(_, low, _):
                return any(len(starts) >= low for starts in self.splits(p, i, j, path))
        raise AssertionError(p)

    def cuts(self, parts, i, j, path, n=0):
        """The ways to cut steps[i:j] into complete words of the parts."""
        if n == len(parts):
            yield from [()] if i == j else []
            return
        for k in range(i, j + 1):
            if self.member(parts[n], i, k, paths(parts, path)[n]):
                yield from ((k, *more) for more in self.cuts(parts, k, j, path, n + 1))

    def splits(self, p, i, j, path, starts=()):
        """The ways to cut steps[i:j] into allowed non-empty elements of the closure p: where the elements start."""
        if i == j:
            yield starts
            return
        if self.another(p, (*starts, i), path):
            for k in range(i + 1, j + 1):
                if self.member(p.part, i, k, path + "r."):
                    yield from self.splits(p, k, j, path, (*starts, i))

    def another(self, p, starts, path):
        """Whether the closure may have its last element start where it does."""
        high = p.high if not self.shortest else max(p.low, 1)
        if high is not None and len(starts) > high:
            return False
        for position, label in self.stops:
            before = sum(s < position for s in starts)
            if label == path and starts[0] < position <= starts[-1] and before >= p.low:
                return False
        return True

    def later(self, p, i, j, path="."):
        """The steps that may still come in p after steps[i:j]; None if these do not begin a word of p."""
        match p:
            case Step(_, name):
                return {name} if i == j else set() if self.steps[i:j] == (name,) else None
            case Absent():
                return set() if i == j else None
            case Sequence(parts):
                return together(self.later_in_sequence(parts, i, j, path))
            case Choice(parts):
                return together(self.later(q, i, j, f"{path}{n}.") for n, q in enumerate(parts))
            case AllOf():
                return together(self.later(s, i, j, where) for s, where in orders(p, path))
            case Repeat():
                return together(self.later_in_closure(p, i, j, path))
        raise AssertionError(p)

    def later_in_sequence(self, parts, i, j, path):
        for n in range(len(parts)):  # the last piece begins a word of parts[n]
            for k in range(i, j + 1):
                if any(True for _ in self.cuts(parts[:n], i, k, path)):
                    here = self.later(parts[n], k, j, paths(parts, path)[n])
                    yield None if here is None else here.union(*(names(q) for q in parts[n + 1 :]))

    def later_in_closure(self, p, i, j, path):
        for k in range(i, j + 1):
            for starts in self.splits(p, i, k, path):
                if k == j:
                    yield names(p.part) if self.another(p, (*starts, j), path) else set()
                elif self.another(p, (*starts, k), path):
                    here = self.later(p.part, k, j, path + "r.")
                    more = names(p.part) if self.another(p, (*starts, k, j), path) else set()
                    yield None if here is None else here | more

    def further(self, p, i, j, path="."):
        """How the last of steps[i:j] is taken: the closures of which it is a further element, "" for a step forward."""
        match p:
            case Step(_, name):
                return {""} if self.steps[i:j] == (name,) else set()
            case Absent():
                return set()
            case Sequence(parts):
                found = set()
                for n in range(len(parts)):
                    for k in range(i, j):
                        if any(True for _ in self.cuts(parts[:n], i, k, path)):
                            found |= self.further(parts[n], k, j, paths(parts, path)[n])
                return found
            case Choice(parts):
                return set().union(*(self.further(q, i, j, f"{path}{n}.") for n, q in enumerate(parts)))
            case AllOf():
                return set().union(*(self.further(s, i, j, where) for s, where in orders(p, path)))
            case Repeat():
                return self.further_in_closure(p, i, j, path)
        raise AssertionError(p)

    def further_in_closure(self, p, i, j, path):
        found = set()
        for k in range(i, j):
            for starts in self.splits(p, i, k, path):
                if self.another(p, (*starts, k), path):
                    inside = self.further(p.part, k, j, path + "r.")
                    again = j - k == 1 and len(starts) >= max(p.low, 1)
                    found |= {path} if again and inside else inside
        return found


def paths(parts, path):
    """Where the parts of a sequence stand; those of an order of AND keep the names AND gave them."""
    return [f"{path}{n}." for n in range(len(parts))] if isinstance(path, str) else path


def orders(p, path):
    """AND as sequences."""
    for chosen in permutations(range(len(p.parts))):
        yield Sequence(tuple(p.parts[n] for n in chosen)), tuple(f"{path}{n}." for n in chosen)


def together(found):
    known = [f for f in found if f is not None]
    return set().union(*known) if known else None


def names(p):
    inside = {id(s) for a in walk_pattern(p) if isinstance(a, Absent) for s in walk_pattern(a)}
    return {s.name for s in walk_pattern(p) if isinstance(s, Step) and id(s) not in inside}


# ------------------------------------------------------------------------------------------------- absent parts


def guarded_regex(p, absents, letter):
    """The pattern over a text of letters, each followed by one flag per absent part: + where it is absent."""
    inner = lambda q: guarded_regex(q, absents, letter)  # noqa: E731
    match p:
        case Step(_, name):
            return f"{letter[name]}[+-]{{{len(absents)}}}"
        case Absent():
            place = next(n for n, a in enumerate(absents) if a is p)
            return rf"(?<=\+[+-]{{{len(absents) - 1 - place}}})"
        case Sequence(parts):
            return "".join(map(inner, parts))
        case Choice(parts):
            return f"(?:{'|'.join(map(inner, parts))})"
        case AllOf(parts):
            return f"(?:{'|'.join(''.join(map(inner, order)) for order in permutations(parts))})"
        case Repeat(part, low, high):
            return f"(?:{inner(part)}){{{low},{'' if high is None else high}}}"
    raise AssertionError(p)


# -------------------------------------------------------------------------------------------------- expressions

ORDER = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SUMS = {
    "sum": sum,
    "min": min,
    "max": max,
    "avg": lambda v: sum(v) / len(v),
    "first": lambda v: v[0],
    "last": lambda v: v[-1],
}


@dataclass
class Reading:
    """Evaluates an expression for given events per step; `i` says which element of each closure is meant."""

    events: list
    bound: dict
    i: dict

    def value(self, e):
        match e:
            case ex.Literal(value):
                return value
            case ex.Attribute():
                return self.column(e, self.elements(e)[-1:])
            case ex.Aggregate(function, argument):
                (attribute,) = ex.attributes(argument)
                values = [self.column(attribute, [row]) for row in self.elements(attribute)]
                values = [v for v in values if v is not None]
                return len(values) if function == "count" else SUMS[function](values) if values else None
            case ex.Arithmetic(op, left, right):
                x, y = self.value(left), self.value(right)
                return None if x is None or y is None else {"+": x + y, "-": x - y, "*": x * y}[op]
        return self.truth(e)

    def truth(self, e):
        match e:
            case ex.Compare(op, left, right):
                x, y = self.value(left), self.value(right)
                return None if x is None or y is None else ORDER[op](x, y)
            case ex.Not(operand):
                return {True: False, False: True, None: None}[self.value(operand)]
            case ex.Or(items):
                found = {self.value(x) for x in items}
                return True if True in found else None if None in found else False
            case ex.And(items):
                found = {self.value(x) for x in items}
                return False if False in found else None if None in found else True
            case ex.IsNull(operand, negated):
                return (self.value(operand) is None) is not negated
        raise AssertionError(e)

    def elements(self, a):
        """The events an attribute reads, ending with the one it means."""
        rows, i = self.bound.get(a.step, ()), self.i.get(a.step, 0)
        cut = {
            ex.Pick.CURRENT: slice(i, i + 1),
            ex.Pick.PREVIOUS: slice(max(i - 1, 0), i),
            ex.Pick.FIRST: slice(0, 1),
            ex.Pick.EACH_BEFORE: slice(0, i),
            ex.Pick.EACH_UPTO: slice(0, i + 1),
        }
        return rows[cut.get(a.pick, slice(0, None))]

    def column(self, a, rows):
        if not rows:
            return None
        value = rows[0] if a.name is None else self.events[rows[0]][a.name]
        return None if isinstance(value, float) and math.isnan(value) else value


@dataclass
class Conjunct:
    """One conjunct, with what it asks for before it can be judged."""

    expr: ex.Expr
    many: set

    @cached_property
    def inside(self):
        return [a for g in ex.walk(self.expr) if isinstance(g, ex.Aggregate) for a in ex.attributes(g)]

    @cached_property
    def direct(self):
        inside = list(map(id, self.inside))
        return {a.step for a in ex.attributes(self.expr) if id(a) not in inside}

    @cached_property
    def complete(self):
        relative = (ex.Pick.EACH_BEFORE, ex.Pick.EACH_UPTO)
        last = {a.step for a in ex.attributes(self.expr) if a.pick is ex.Pick.LAST}
        return last | {a.step for a in self.inside if a.pick not in relative}

    def fails(self, events, bound, later):
        """Whether it is decided, given the steps that may still come, and not true."""
        if not self.direct <= bound.keys() or self.complete & later:
            return False
        picks = [(a.step, a.pick) for a in ex.attributes(self.expr)]
        whole = {ex.Pick.FIRST, ex.Pick.LAST, ex.Pick.EACH}
        by_element = sorted({s for s, pick in picks if s in self.many and pick not in whole})
        backward = {s for s, pick in picks if pick in (ex.Pick.PREVIOUS, ex.Pick.FIRST, ex.Pick.EACH_BEFORE)}
        places = [[i for i in range(len(bound.get(s, ()))) if i or s not in backward] for s in by_element]
        for chosen in product(*places):
            reading = Reading(events, bound, dict(zip(by_element, chosen, strict=True)))
            if reading.value(self.expr) is not True:
                return True
        return False


# ------------------------------------------------------------------------------------------------------ matches


@dataclass
class BruteForce:
    """One pattern of one query over one table."""

    bound: object
    pattern: object
    events: list
    cache: dict = field(default_factory=dict)

    def __post_init__(self):
        query, roles = self.bound.query, self.bound.schema.roles
        self.many = {n for n, s in self.bound.steps.items() if s.many}
        self.where = [Conjunct(c, self.many) for c in query.where]
        self.time = [e[roles.lower] for e in self.events]
        columns = {*self.bound.key, *query.equivalence}
        self.key = [tuple(e[c] for c in sorted(columns)) for e in self.events]
        self.types = [e[roles.type] for e in self.events]
        timed = [n for n, time in enumerate(self.time) if time is not None]
        self.rows = [n for n in timed if None not in self.key[n] or not self.wanted(n)]
        self.strategy, self.closure = query.strategy, query.closure
        self.steps = [s for s in walk_pattern(self.pattern) if isinstance(s, Step) and s.name in names(self.pattern)]

    def wanted(self, n):
        """Whether some step, absent ones included, would take this event as far as one can see from the event."""

        def alone(c, step):
            return {(a.step, a.pick) for a in ex.attributes(c.expr)} == {(step, ex.Pick.CURRENT)} and not c.inside

        def takes(step, type_):
            asked = [c for c in self.where if alone(c, step)]
            return type_ in (None, self.types[n]) and not any(c.fails(self.events, {step: (n,)}, set()) for c in asked)

        return any(takes(name, info.type) for name, info in self.bound.steps.items())

    # -- words

    def word(self, steps, stops):
        shortest = self.closure is Closure.SHORTEST and self.strategy is not Strategy.ANY
        return Word(steps, frozenset(stops), shortest)

    def later(self, steps, stops=frozenset()):
        return self.remembered("later", steps, stops)

    def further(self, steps, stops=frozenset()):
        """The closures of which the last step is a further element; empty if it can be taken as a step forward."""
        found = self.remembered("further", steps, stops)
        return set() if "" in found else found

    def remembered(self, question, steps, stops):
        key = (question, steps, frozenset(stops))
        if key not in self.cache:
            self.cache[key] = getattr(self.word(steps, stops), question)(self.pattern, 0, len(steps))
        return self.cache[key]

    # -- one assignment = (steps, rows)

    def window(self, first, last):
        extent = self.bound.extent
        if extent is None:
            return True
        if extent.events:
            every = self.strategy is Strategy.STRICT
            stream = [n for n in self.rows if every or self.key[n] == self.key[first]]
            return sum(self.time[first] <= self.time[n] <= self.time[last] for n in stream) <= extent.span
        return self.time[last] - self.time[first] <= extent.span

    def possible(self, steps, rows, stops):
        """Whether this can be a prefix: order, window, key, pattern, and nothing decided is untrue."""
        first, last = rows[0], rows[-1]
        later = self.later(steps, stops)
        return (
            all(self.time[x] < self.time[y] for x, y in pairwise(rows))
            and self.window(first, last)
            and self.key[first] == self.key[last]
            and later is not None
            and not any(c.fails(self.events, by_step(steps, rows), later) for c in self.where)
        )

    def relevant(self, steps, rows, stops):
        """Events after a prefix that some way forward takes: (row, step)."""
        key = (steps, rows, frozenset(stops))
        if key not in self.cache:
            self.cache[key] = self.find_relevant(steps, rows, stops)
        return self.cache[key]

    def find_relevant(self, steps, rows, stops):
        after = [n for n in self.rows if not rows or self.time[n] > self.time[rows[-1]]]
        return [
            (n, s.name)
            for n in after
            for s in {s.name: s for s in self.steps}.values()
            if s.type in (None, self.types[n]) and self.possible((*steps, s.name), (*rows, n), stops)
        ]

    def takes(self, steps, rows, option, stops):
        """Whether the strategy lets the prefix go on to this relevant event."""
        n, step = option
        if not rows:
            return True
        between = {m for m in self.rows if self.time[rows[-1]] < self.time[m] < self.time[n]}
        options = self.relevant(steps, rows, stops)
        match self.strategy:
            case Strategy.ANY:
                return True
            case Strategy.STRICT:
                return not between
            case Strategy.PARTITION:
                return not any(self.key[m] == self.key[n] for m in between)
            case Strategy.NEXT:
                forward = {m for m, s in options if not self.further((*steps, s), stops)}
                rivals = {m for m in forward - {n} if self.time[m] == self.time[n]}
                behind = self.further((*steps, step), stops) and rivals
                return not behind and not any(m in between for m, _ in options)
        if any(m in between and s in self.many for m, s in options):
            return False
        earlier = [(position, label) for position, label in stops if position < len(rows)]
        replacing = {m for m, s in self.relevant(steps[:-1], rows[:-1], earlier) if s == steps[-1]}
        return steps[-1] in self.many or not any(m in between and self.key[m] == self.key[n] for m in replacing)

    def selected(self, steps, rows, i=0, stops=frozenset()):
        """Whether the strategy selects exactly this match, given the closures that stopped before position i."""
        here = steps[:i], rows[:i]
        going = [o for o in self.relevant(*here, stops) if self.takes(*here, o, stops)]
        if i == len(rows):
            if self.strategy is Strategy.ANY or self.closure is Closure.PREFIXES or not going:
                return True
        elif (rows[i], steps[i]) in going and self.selected(steps, rows, i + 1, stops):
            return True
        if self.closure is not Closure.PREFIXES or self.strategy is Strategy.ANY:
            return False
        labels = set().union(*(self.further((*here[0], s), stops) for _, s in going))
        return any(self.selected(steps, rows, i, stops | {(i, label)}) for label in labels)

    # -- absent parts

    def absents(self):
        return [a for a in walk_pattern(self.pattern) if isinstance(a, Absent)]

    def flag(self, absent, gap, steps, rows):
        """+ if no occurrence of the absent part lies in the gap."""
        chains = [absent.part.parts] if isinstance(absent.part, Sequence) else [(s,) for s in single_steps(absent)]
        return "-" if any(self.occurs(chain, gap, steps, rows) for chain in chains) else "+"

    def occurs(self, chain, gap, steps, rows):
        inside = [n for n in self.rows if self.key[n] == self.key[rows[0]] and self.in_gap(n, gap, rows)]
        mine = {s.name for s in chain}
        asked = [c for c in self.where if {a.step for a in ex.attributes(c.expr)} & mine]
        for found in combinations(sorted(inside, key=lambda n: self.time[n]), len(chain)):
            ordered = all(self.time[x] < self.time[y] for x, y in pairwise(found))
            typed = all(s.type in (None, self.types[n]) for s, n in zip(chain, found, strict=True))
            bound = by_step((*steps, *(s.name for s in chain)), (*rows, *found))
            if ordered and typed and not any(c.fails(self.events, bound, set()) for c in asked):
                return True
        return False

    def in_gap(self, n, gap, rows):
        if gap == 0:
            return self.time[n] < self.time[rows[0]] and self.window(n, rows[-1])
        if gap == len(rows):
            return self.time[n] > self.time[rows[-1]] and self.window(rows[0], n)
        return self.time[rows[gap - 1]] < self.time[n] < self.time[rows[gap]]

    def unharmed(self, steps, rows):
        """Whether some way through the pattern passes no absent part that occurs."""
        absents = self.absents()
        if not absents:
            return True
        letter = {name: chr(ord("a") + n) for n, name in enumerate(sorted(names(self.pattern)))}
        flags = ["".join(self.flag(a, gap, steps, rows) for a in absents) for gap in range(len(rows) + 1)]
        text = flags[0] + "".join(letter[s] + f for s, f in zip(steps, flags[1:], strict=True))
        regex = f"[+-]{{{len(absents)}}}" + guarded_regex(self.pattern, absents, letter)
        return re.fullmatch(regex, text) is not None

    # -- all of them

    def assignments(self, steps=(), rows=()):
        """Every labelling of every set of events in increasing time that begins a word of the pattern."""
        if rows:
            yield steps, rows
        for n in self.rows:
            if not rows or self.time[n] > self.time[rows[-1]]:
                for s in {s.name: s for s in self.steps}.values():
                    if s.type in (None, self.types[n]) and self.later((*steps, s.name)) is not None:
                        yield from self.assignments((*steps, s.name), (*rows, n))

    def accepts(self, steps, rows):
        return (
            self.word(steps, ()).member(self.pattern, 0, len(steps))
            and self.window(rows[0], rows[-1])
            and len({self.key[n] for n in rows}) == 1
            and not any(c.fails(self.events, by_step(steps, rows), set()) for c in self.where)
            and self.unharmed(steps, rows)
            and (self.strategy is Strategy.ANY or self.selected(steps, rows))
        )


def single_steps(pattern):
    return [s for s in walk_pattern(pattern) if isinstance(s, Step)]


def by_step(steps, rows):
    found = {}
    for step, row in zip(steps, rows, strict=True):
        found[step] = (*found.get(step, ()), row)
    return found


def enumerate_matches(bound, events):
    """All matches, in the reference's form: bound steps in the order of the query with their rows."""
    found = set()
    for pattern in bound.query.patterns:
        search = BruteForce(bound, pattern, events)
        for steps, rows in search.assignments():
            if search.accepts(steps, rows):
                at = by_step(steps, rows)
                found.add(tuple((step, at[step]) for step in bound.steps if step in at))
    return sorted(found)
