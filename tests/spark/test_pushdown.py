"""A condition has the same value in Spark as in the kernels, in every row."""

import datetime as dt
import random

import pyarrow as pa
import pytest

import whenabouts as wa
from whenabouts.events.schema import DType, Roles
from whenabouts.events.table import schema_of
from whenabouts.kernels.columns import evaluate, plain
from whenabouts.plan import expressions as ex
from whenabouts.spark.pushdown import StaysInPython, Translator
from whenabouts.spark.schema import arrow_schema

pytestmark = pytest.mark.spark

EXPRESSIONS, ROWS = 240, 120
BIG = 2**53
NAN, INFINITY = float("nan"), float("inf")
START = 1_710_000_000_000_000
VALUES = {
    "i": (pa.int64(), [0, 1, 2, -1, BIG, -BIG, BIG + 1, 2**62, 2**63 - 1, -(2**63)]),
    "h": (pa.int16(), [0, 1, 2, -1, 32767]),
    "f": (pa.float64(), [0.0, -0.0, 0.1, 1.0, 2.0, 1.5, NAN, INFINITY, -INFINITY, float(2**53)]),
    "g": (pa.float32(), [0.0, 0.1, 1.0, 2.0, NAN]),
    "s": (pa.string(), ["", "a", "A", "ab", "ä", "straße", "a%b", "a_b", " a ", "\n", "\U0001f600", "z"]),
    "u": (pa.string(), ["", "a", "b", "ab"]),
    "b": (pa.bool_(), [True, False]),
    "c": (pa.bool_(), [True, False]),
    "t": (pa.timestamp("us", "UTC"), [START, START + 1, 0, -1]),
    "n": (pa.timestamp("us"), [START, START + 1, 0, -1]),
    "d": (pa.date32(), [0, -1, 19_000]),
}
KINDS = {
    DType.INT: ["i", "h"],
    DType.FLOAT: ["f", "g"],
    DType.STRING: ["s", "u"],
    DType.BOOL: ["b", "c"],
}
LITERALS = {
    DType.INT: [0, 1, 2, -1, BIG, 2**63 - 1],
    DType.FLOAT: [0.0, 0.1, 1.0, 1.5, 2.0**53, 2.0**63, -INFINITY],
    DType.STRING: ["", "a", "ab", "B", "ä", "\U0001f600"],
    DType.BOOL: [True, False],
}
TIMES = {"t": [START, 0, -1], "n": [START, 0, -1], "d": [0, 86_400, 86_399, 19_000 * 86_400]}
PATTERNS = ["a%", "%b", "_", "%_%", "a_b", "", "%ß%", "ab", "%%", "_%a", ".*"]


class Expressions:
    """Random expressions over one event, of a wanted type."""

    def __init__(self, rng):
        self.rng = rng

    def attribute(self, kind):
        return ex.Attribute("", self.rng.choice(KINDS[kind]))

    def literal(self, kind):
        return ex.Literal(self.rng.choice([*LITERALS[kind], *LITERALS[kind], None]))

    def value(self, kind, depth=1):
        choice = self.rng.randrange(9)
        if depth and choice == 0:
            function = self.rng.choice(["coalesce", "greatest", "least"])
            if kind is DType.BOOL:
                function = "coalesce"
            return ex.Call(function, (self.value(kind, 0), self.attribute(kind)))
        if depth and choice == 1 and kind is DType.STRING:
            return ex.Call("trim", (self.attribute(kind),))
        if depth and choice == 1 and kind is DType.INT:
            return ex.Call("length", (self.attribute(DType.STRING),))
        return self.attribute(kind)

    def condition(self, depth=3):
        rules = [self.compare, self.compare, self.moment, self.contained, self.of_text, self.is_null]
        rules += [lambda: self.attribute(DType.BOOL)]
        if depth:
            rules += [lambda: ex.Not(self.condition(depth - 1)), lambda: self.junction(depth)] * 3
        return self.rng.choice(rules)()

    def junction(self, depth):
        items = tuple(self.condition(depth - 1) for _ in range(self.rng.randint(2, 3)))
        return self.rng.choice([ex.And, ex.Or])(items)

    def compare(self):
        kind = self.rng.choice([DType.INT, DType.FLOAT, DType.STRING, DType.BOOL])
        other = self.rng.choice([DType.INT, DType.FLOAT]) if kind in (DType.INT, DType.FLOAT) else kind
        right = self.literal(other) if self.rng.random() < 0.6 else self.value(other)
        ops = ["=", "!="] if kind is DType.BOOL else ["=", "!=", "<", "<=", ">", ">="]
        sides = [self.value(kind), right]
        self.rng.shuffle(sides)
        return ex.Compare(self.rng.choice(ops), *sides)

    def moment(self):
        name = self.rng.choice(list(TIMES))
        sides = [ex.Attribute("", name), ex.Literal(self.rng.choice(TIMES[name]))]
        self.rng.shuffle(sides)
        return ex.Compare(self.rng.choice(["=", "!=", "<", "<=", ">", ">="]), *sides)

    def contained(self):
        kind = self.rng.choice([DType.INT, DType.FLOAT, DType.STRING])
        items = tuple(self.literal(kind) for _ in range(self.rng.randint(1, 4)))
        return ex.In(self.attribute(kind), items, negated=self.rng.random() < 0.5)

    def of_text(self):
        operand = self.value(DType.STRING)
        if self.rng.random() < 0.6:
            return ex.Like(operand, self.rng.choice(PATTERNS), negated=self.rng.random() < 0.3)
        function = self.rng.choice(["starts_with", "ends_with", "contains"])
        return ex.Call(function, (operand, ex.Literal(self.rng.choice(["a", "", "ß", "b"]))))

    def is_null(self):
        operand = self.attribute(self.rng.choice(list(KINDS)))
        return ex.IsNull(operand, negated=self.rng.random() < 0.5)


def random_table(rng):
    columns = {"time": pa.array(range(ROWS)), "id": pa.array(range(ROWS))}
    for name, (kind, values) in VALUES.items():
        column = [rng.choice([*values, None]) for _ in range(ROWS)]
        raw = pa.int32() if kind == pa.date32() else pa.int64() if pa.types.is_timestamp(kind) else kind
        columns[name] = pa.array(column, raw).cast(kind) if raw != kind else pa.array(column, kind)
    return pa.table(columns)


def test_spark_and_kernels_agree_on_every_row(spark):
    rng = random.Random(7)
    table = random_table(rng)
    df = spark.createDataFrame(table)
    df = df.withColumn("n", df["t"].cast("timestamp")).drop("n").join(naive(spark, table), "id").coalesce(1)
    schema = schema_of(arrow_schema(df.schema), Roles(type=None))
    translator, generator = Translator(schema, df.schema), Expressions(rng)
    expected, columns, stayed = {}, [], 0
    while len(columns) < EXPRESSIONS:
        expr = generator.condition()
        name = f"e{len(columns)}"
        try:
            columns.append(translator.value(expr).alias(name))
        except StaysInPython:
            stayed += 1
            continue
        found = evaluate(expr, lambda a: resolved(table, schema, a), schema)
        values = [found.as_py()] * ROWS if isinstance(found, pa.Scalar) else found.to_pylist()
        expected[name] = (expr, values)
    assert stayed < EXPRESSIONS / 4
    answer = df.select("id", *columns).toArrow().sort_by("id")
    for name, (expr, values) in expected.items():
        assert answer.column(name).to_pylist() == values, expr


def naive(spark, table):
    """The column n as Spark's type without zone, whatever the zone of the session."""
    values = [None if v is None else dt.datetime.isoformat(v, " ") for v in table.column("n").to_pylist()]
    df = spark.createDataFrame(pa.table({"id": table.column("id"), "n": pa.array(values, pa.string())}))
    return df.selectExpr("id", "CAST(n AS TIMESTAMP_NTZ) AS n")


def resolved(table, schema, attribute):
    return plain(table.column(attribute.name).combine_chunks(), schema.columns[attribute.name])


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("a.i + 1 > 2", "arithmetic may overflow"),
        ("sqrt(a.f) > 2", "Spark's sqrt may differ"),
        ("a.s LIKE 'a\\%'", "the pattern escapes characters"),
        ("a.f IN (0.0, 1.0)", "0.0 and -0.0 differ in lists"),
        ("a.m > 2", "m has type decimal(5,2)"),
        ("coalesce(a.i, a.f) > 2", "its arguments have several types"),
    ],
)
def test_what_stays_in_python_says_why(spark, condition, reason):
    df = spark.createDataFrame([], "id int, type string, time int, k int, i long, f double, s string, m decimal(5,2)")
    text = wa.query(f"PATTERN SEQ(A a, B b) WHERE [k] AND {condition} WITHIN 5").explain(df)
    assert f": {reason}]" in text


def test_the_scan_knows_the_types(spark, tmp_path):
    """Row groups without the types of the pattern are not read."""
    path = str(tmp_path / "events")
    rows = [(n, "ABX"[n % 3], n, n % 2) for n in range(30)]
    spark.createDataFrame(rows, "id int, type string, time int, k int").write.parquet(path)
    matches = wa.query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5").match(spark.read.parquet(path))
    plan = matches._jdf.queryExecution().toString()
    assert "PushedFilters: [IsNotNull(time), IsNotNull(k), In(type, [A,B])]" in plan
