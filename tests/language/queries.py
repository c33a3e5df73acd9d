"""Random queries that pass the checks, for round trips and fuzzing."""

from itertools import count

from hypothesis import strategies as st

from whenabouts.errors import WhenaboutsError
from whenabouts.language.check import check
from whenabouts.language.durations import NANOSECONDS
from whenabouts.language.forms import all_true, any_true
from whenabouts.plan.expressions import (
    Aggregate,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    DurationLiteral,
    In,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Pick,
    conjuncts,
)
from whenabouts.plan.pattern import (
    Absent,
    AllOf,
    Choice,
    Closure,
    Confidence,
    Measure,
    Output,
    Query,
    Repeat,
    Sequence,
    Step,
    Strategy,
    Window,
    own_columns,
    steps_of_query,
)
from whenabouts.plan.render import derived_name
from whenabouts.plan.typing import FUNCTIONS

TYPES = st.sampled_from(
    [None, "A", "B", "C", "TaskStart", "task start", "Limit", 'say "x"', "it's", "é", "日本", "1st"]
)
COLUMN_NAMES = ["v", "w", "n", "s", "ok", "time", "id", "my col", 'odd "name"', "limit", "and", "日本"]
COLUMNS = st.sampled_from(COLUMN_NAMES)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
SEPARATE_CLAUSES = {Output.EACH, Output.TOTAL}

integers = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
constants = st.one_of(integers, floats, WORDS, st.booleans()).map(Literal)
literals = constants | st.just(Literal(None))
amounts = st.integers(0, 10**6) | st.floats(0, 1e9).map(abs)
durations = st.builds(DurationLiteral, amounts, st.sampled_from(list(NANOSECONDS)))


@st.composite
def patterns(draw, names, depth=2):
    """A pattern that takes at least one event."""
    kind = draw(st.sampled_from(["step", "sequence", "choice", "all_of", "repeat"])) if depth else "step"
    deeper = patterns(names, depth - 1)
    if kind == "sequence":
        parts = draw(st.lists(st.one_of(deeper, optional(names, depth - 1), absences(names)), max_size=3))
        position = draw(st.integers(0, len(parts)))
        return Sequence((*parts[:position], draw(deeper), *parts[position:]))
    if kind in ("choice", "all_of"):
        return (Choice if kind == "choice" else AllOf)(tuple(draw(st.lists(deeper, min_size=2, max_size=3))))
    if kind == "repeat":
        low = draw(st.integers(1, 3))
        return Repeat(draw(deeper), low, draw(st.none() | st.integers(low, 4)))
    return Step(draw(TYPES), f"{draw(st.sampled_from(['a', 'step', 'é', 'time']))}{next(names)}")


def optional(names, depth):
    """A part that may take nothing."""
    return st.builds(Repeat, patterns(names, max(depth, 0)), st.just(0), st.sampled_from([None, 1, 3]))


@st.composite
def absences(draw, names):
    """`!( … )` in each supported form."""
    steps = [Step(draw(TYPES), f"n{next(names)}") for _ in range(draw(st.integers(1, 2)))]
    if len(steps) == 1:
        return Absent(draw(st.sampled_from([steps[0], Sequence((steps[0],))])))
    return Absent(draw(st.sampled_from([Sequence, Choice]))(tuple(steps)))


# ---------------------------------------------------------------- expressions


# Recursive strategies are composites that draw a kind: `one_of` would flatten them into hundreds of branches, and how
# many depends on what Hypothesis happens to have cached.


def negative(value):
    """Unary minus as the parser builds it: before a number it is part of the number."""
    return value if isinstance(value, Literal) else Negate(value)


@st.composite
def chosen(draw, options):
    """One of the strategies, without flattening."""
    return draw(options[draw(st.integers(0, len(options) - 1))])


@st.composite
def values(draw, references, depth=2):
    """Values over references."""
    kinds = ["reference", "reference", "constant", "duration"]
    kind = draw(st.sampled_from([*kinds, "arithmetic", "minus", "call", "condition"] if depth else kinds))
    deeper = values(references, depth - 1)
    if kind == "constant":
        return draw(literals)
    if kind == "duration":
        return draw(durations)
    if kind == "arithmetic":
        return Arithmetic(draw(st.sampled_from("+-*/%")), draw(deeper), draw(deeper))
    if kind == "minus":
        return negative(draw(deeper))
    if kind == "call":
        name = draw(st.sampled_from(sorted(FUNCTIONS)))
        number = len(FUNCTIONS[name].parameters) + FUNCTIONS[name].variadic
        return Call(name, tuple(draw(deeper) for _ in range(number)))
    return draw(conditions(references, depth - 1) if kind == "condition" else references)


@st.composite
def conditions(draw, references, depth=2):
    """Conditions over references."""
    simple = ["compare", "compare", "in", "between", "like", "is_null", "reference"]
    kind = draw(st.sampled_from([*simple, "not", "and", "or"] if depth > 0 else simple))
    operand, value = draw(references), values(references, max(depth - 1, 0))
    deeper = conditions(references, depth - 1)
    match kind:
        case "compare":
            return Compare(draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="])), operand, draw(value))
        case "in":
            return In(operand, tuple(draw(st.lists(constants, min_size=1, max_size=3))), draw(st.booleans()))
        case "between":
            return Between(operand, draw(value), draw(value), draw(st.booleans()))
        case "like":
            return Like(operand, draw(WORDS), draw(st.booleans()))
        case "is_null":
            return IsNull(operand, draw(st.booleans()))
        case "not":
            return Not(draw(deeper))
        case "and" | "or":
            items = draw(st.lists(deeper, min_size=2, max_size=3))
            return all_true(items) if kind == "and" else any_true(items)
    return operand


def columns(step, *picks):
    """Columns of the events of a step."""
    return st.builds(Attribute, st.just(step), COLUMNS, st.sampled_from(picks or (Pick.CURRENT,)))


def references_in_where(draw, steps):
    """Attributes and aggregates one conjunct may mention: one closure element by element, one absent step."""
    many = [s.name for s in steps if s.many and not s.absent]
    absent = [s.name for s in steps if s.absent and not s.many]
    options = [columns(s.name) for s in steps if not s.many and not s.absent]
    if absent and draw(st.booleans()):
        options.append(columns(draw(st.sampled_from(absent))))
    if many:
        current = draw(st.sampled_from(many))
        options.append(columns(current, Pick.CURRENT, Pick.PREVIOUS))
        options.append(aggregates(current, Pick.EACH_BEFORE, Pick.EACH_UPTO))
    for name in many:
        options += [columns(name, Pick.FIRST, Pick.LAST), aggregates(name, Pick.EACH)]
    return chosen(options) if options else None


@st.composite
def aggregates(draw, step, *picks):
    """Aggregates over the events of a closure."""
    pick = draw(st.sampled_from(picks))
    if draw(st.booleans()):
        return Aggregate("count", Attribute(step, None, pick))
    column = draw(columns(step, pick))
    function = draw(st.sampled_from(["count", "sum", "avg", "min", "max", "first", "last"]))
    return Aggregate(function, draw(st.sampled_from([column, Negate(column)])))


def items(steps, output):
    """RETURN items without their names."""
    options = [st.just(Aggregate("count", None))] if output is Output.TOTAL else []
    totals = st.sampled_from(["count", "sum", "avg", "min", "max"])
    for step in steps:
        if step.absent:
            continue
        single = (Pick.FIRST, Pick.LAST) if step.many else (Pick.CURRENT,)
        if output is Output.TOTAL:
            group = columns(step.name, Pick.EACH if step.many else Pick.CURRENT)
            options.append(st.builds(Aggregate, totals, group))
            continue
        options.append(values(columns(step.name, *single)))
        options.append(st.builds(Attribute, st.just(step.name), st.none(), st.sampled_from(single)))
        if step.many:
            options += [columns(step.name, Pick.EACH), values(aggregates(step.name, Pick.EACH))]
    return chosen(options)


@st.composite
def windows(draw):
    unit = draw(st.sampled_from([None, "event", *NANOSECONDS]))
    if unit == "event":
        return Window(draw(st.integers(1, 100)), unit)
    return Window(draw(st.integers(1, 10**9) | st.floats(1e-3, 1e6)), unit, draw(st.booleans()))


def queries():
    """Whole queries; practically all drafts pass the checks."""
    return drafts().filter(passes).map(check)


def passes(query):
    try:
        check(query)
    except WhenaboutsError:
        return False
    return True


@st.composite
def drafts(draw):
    names = count()
    shape = tuple(draw(st.lists(patterns(names), min_size=1, max_size=2)))
    steps = list(steps_of_query(Query(shape)).values())
    where = []
    for _ in range(draw(st.integers(0, 3))):
        references = references_in_where(draw, steps)
        if references is not None:
            where.extend(conjuncts(draw(conditions(references))))
    output = draw(st.sampled_from(Output))
    measures = {}
    for _ in range(draw(st.integers(output is Output.TOTAL, 3)) if output in SEPARATE_CLAUSES else 0):
        expr = draw(items(steps, output))
        name = (draw(st.booleans()) and derived_name(expr)) or draw(WORDS)
        if name not in own_columns(output, exact=True):
            measures[name] = Measure(expr, name)
    return Query(
        shape,
        tuple(where),
        tuple(draw(st.lists(COLUMNS, max_size=2, unique=True))),
        Strategy.ANY if output is Output.COLLAPSED else draw(st.sampled_from(Strategy)),
        draw(st.none() | windows()),
        draw(st.sampled_from(Closure)),
        output,
        tuple(measures.values()),
        **{} if output is Output.TOTAL else draw(choices_among_rows()),
    )


def choices_among_rows():
    """CONFIDENCE, and TOP or LIMIT."""
    count = st.integers(1, 100)
    thresholds = st.builds(Confidence, st.floats(0, 1, exclude_max=True), st.booleans()) | st.just(Confidence(1.0))
    return st.fixed_dictionaries({}, optional={"confidence": thresholds, "top": count}) | st.fixed_dictionaries(
        {}, optional={"confidence": thresholds, "limit": count}
    )
