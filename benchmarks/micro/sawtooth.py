"""Three steps over 100,000 uncertain events (thesis 3.7.1): throughput over half interval, window, length, frequencies.

The stream rises from 1 to 1000 and starts again; a step takes the multiples of its modulus. The thesis does not state
its moduli, which decide how much of a run is output. Asked of the sparse ones (see simulate/sawtooth.py) is every order
of evaluation that the thesis compares, and what the planner chooses; of the dense and the rare ones that choice only.
The answers must be the possible chains of `benchmarks.feasible`, all of them, with equal confidences in every order;
those of a sample are computed once more in fractions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import whenabouts as wa
from benchmarks.feasible import chains, undisturbed
from benchmarks.increasing import Weights, counted
from benchmarks.measure import Row, Scale
from benchmarks.plot import Line, Panel, drawing
from whenabouts.engine import compile_query, match_table
from whenabouts.events.table import schema_of
from whenabouts.kernels.reference import forbidden
from whenabouts.kernels.uncertain.run import Order
from whenabouts.simulate.sawtooth import MODULI, TOP, sawtooth_query, simulate_sawtooth

NAME = "sawtooth"
SIZES: dict[Scale, int] = {"tiny": 3_000, "full": 100_000}
HALF_WIDTHS = (1, 5, 10, 20, 30, 40, 50)
WINDOWS = (10, 25, 50, 100, 150, 200)
LENGTHS = (2, 3, 4, 5, 6)
# Fig. 3.7(c): ever more events for the first step and fewer for the last; the product of the moduli changes by 4 %.
FREQUENCIES = ((139, 67, 31), (61, 67, 71), (31, 67, 139), (17, 67, 251), (7, 67, 619), (5, 67, 863))
STRATEGIES = {"any": "skip till any", "next": "skip till next"}
ORDERS: Mapping[str, Order | None] = {
    "planner": None,
    "query": Order.QUERY,
    "selectivity": Order.SELECTIVITY,
    "any state": Order.ANY_STATE,
}
SAMPLE = 3  # so many confidences of each question are computed once more, where that takes at most
MOST_INSTANTS = 10_000  # combinations of instants under skip till next match
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Setting:
    """One point of a plot."""

    moduli: tuple[int, ...] = MODULI["sparse"][3]
    strategy: str = "any"
    order: str = "planner"
    half_width: int = 10
    window: int = 100
    label: str = "sparse"

    def __str__(self) -> str:
        size = f"δ={self.half_width}, W={self.window}, l={len(self.moduli)}"
        return f"{self.strategy}, {self.label}, {size}, {self.order}"

    @property
    def span(self) -> int:
        return self.window - 1


@dataclass
class Streams:
    """The events for every half width, and what is known of each question: its chains and their confidences."""

    size: int
    events: dict[int, pa.Table]
    known: dict[Setting, tuple[Any, Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.size


def load(scale: Scale) -> Streams:
    size = SIZES[scale]
    return Streams(size, {half: simulate_sawtooth(size, half).events for half in HALF_WIDTHS})


# --- the settings ----------------------------------------------------------------------------------------------------

Sweep = Mapping[float, Setting]  # by the place on the axis


def _sweeps(density: str) -> dict[str, Sweep]:
    usual = Setting(MODULI[density][3], label=density)
    return {
        "half interval δ": {half: replace(usual, half_width=half) for half in HALF_WIDTHS},
        "window W": {window: replace(usual, window=window) for window in WINDOWS},
        "length l": {length: replace(usual, moduli=MODULI[density][length]) for length in LENGTHS},
    }


def _share(moduli: tuple[int, ...]) -> Setting:
    label = "sparse" if moduli == MODULI["sparse"][3] else f"1st 1/{moduli[0]}, last 1/{moduli[-1]}"
    return Setting(moduli, label=label)


SWEEPS: dict[str, dict[str, Sweep]] = {
    "sparse": {
        **_sweeps("sparse"),
        "events for the first step, in %": {100 / moduli[0]: _share(moduli) for moduli in FREQUENCIES},
    },
    "dense": _sweeps("dense"),
    "rare": _sweeps("rare"),
}


def _settings() -> list[Setting]:
    """Every setting once, though it is part of several sweeps."""
    found = [
        replace(setting, strategy=strategy, order=order)
        for density, sweeps in SWEEPS.items()
        for strategy in STRATEGIES
        for sweep in sweeps.values()
        for setting in sweep.values()
        for order in (ORDERS if density == "sparse" else ["planner"])
    ]
    return list(dict.fromkeys(found))


def ask(setting: Setting, streams: Streams) -> tuple[Setting, pa.Table]:
    text = sawtooth_query(setting.moduli, setting.window, setting.strategy)  # type: ignore[arg-type]
    asked, events = wa.query(text, time=("lower", "upper")), streams.events[setting.half_width]
    plan = compile_query(asked.query, schema_of(events.schema, asked.options.roles))
    rows, _, _ = match_table(plan, events, asked.options.budget, order=ORDERS[setting.order])
    return setting, rows


VARIANTS: dict[str, Callable[[Streams], Any]] = {str(setting): partial(ask, setting) for setting in _settings()}


# --- the answers -----------------------------------------------------------------------------------------------------


def check(streams: Streams, answer: tuple[Setting, pa.Table]) -> None:
    setting, rows = answer
    found, confidences = _by_events(rows, len(setting.moduli))
    question = replace(setting, order="planner")
    if question not in streams.known:
        wanted = _possible(question, streams.size)
        _require_sample(question, streams.size, found, confidences)
        streams.known[question] = wanted, confidences
    wanted, others = streams.known[question]
    if not np.array_equal(found, wanted):
        raise AssertionError(f"{setting}: {len(found)} matches, which are not the {len(wanted)} possible chains")
    if not np.allclose(confidences, others, rtol=0, atol=TOLERANCE):
        raise AssertionError(f"{setting}: confidences differ from those in another order of evaluation")


def _by_events(rows: pa.Table, length: int) -> tuple[Any, Any]:
    """The ids of every match, step by step, and its confidence; in the order of the ids."""
    ids = rows.column("events").combine_chunks().items.values.to_numpy().reshape(-1, length)
    places = np.lexsort(ids.T[::-1])
    return ids[places], rows.column("confidence").to_numpy()[places]


def _classes(setting: Setting, size: int) -> list[Any]:
    values = np.arange(size) % TOP + 1
    return [np.flatnonzero(values % modulus == 0) + 1 for modulus in setting.moduli]


def _possible(setting: Setting, size: int) -> Any:
    classes = _classes(setting, size)
    found = chains(classes, setting.half_width, setting.span)
    if setting.strategy == "next":
        found = found[undisturbed(found, classes, setting.half_width, setting.span)]
    return found


def _require_sample(setting: Setting, size: int, found: Any, confidences: Any) -> None:
    instants = (2 * setting.half_width + 1) ** len(setting.moduli)
    if not len(found) or (setting.strategy == "next" and instants > MOST_INSTANTS):
        return
    for place in np.linspace(0, len(found) - 1, SAMPLE).astype(int):
        wanted = _exact(setting, size, found[place].tolist(), instants)
        if abs(Fraction(confidences[place]) - wanted) > TOLERANCE:
            raise AssertionError(f"{setting}: {found[place]} has {confidences[place]} instead of {float(wanted)}")


def _exact(setting: Setting, size: int, chain: list[int], instants: int) -> Fraction:
    """The confidence of one chain, in fractions."""
    half = setting.half_width
    if setting.strategy == "any":
        return Fraction(counted([Weights.uniform(e - half, e + half) for e in chain], setting.span), instants)
    near = {
        (int(x), j)
        for j, events in enumerate(_classes(setting, size))
        for x in events[(events > chain[0] - 2 * half) & (events < chain[-1] + 2 * half)]
        if j > 0 and x not in chain
    }
    members = [*chain, *sorted({x for x, _ in near})]
    masses = [{t: Fraction(1, 2 * half + 1) for t in range(e - half, e + half + 1)} for e in members]
    rows = [forbidden.Row(members.index(x), j - 1, from_last=True, high=j) for x, j in sorted(near)]
    outcome = forbidden.outcome(masses, [[place] for place in range(len(chain))], rows, setting.span)
    return Fraction(0) if outcome is None else outcome.confidence


# --- what follows ----------------------------------------------------------------------------------------------------


def figures(answer: tuple[Setting, pa.Table]) -> dict[str, int]:
    return {"matches": answer[1].num_rows}


def _rates(rows: Sequence[Row]) -> dict[str, float]:
    return {row.variant: row.events / row.median for row in rows if row.seconds}


def conclusion(rows: Sequence[Row]) -> str:
    """The ratios that are asked for, for both densities."""
    rates, lines = _rates(rows), []
    for density in MODULI:
        usual = Setting(MODULI[density][3], label=density)
        rate, narrow, wide, following = (
            rates[str(s)]
            for s in (
                usual,
                replace(usual, half_width=HALF_WIDTHS[0]),
                replace(usual, half_width=HALF_WIDTHS[-1]),
                replace(usual, strategy="next"),
            )
        )
        lines += [
            f"{density}, one core, {usual.strategy}, δ=10, W=100, l=3: {rate:,.0f} events/s",
            f"{density}, δ=50: {wide:,.0f} events/s; δ=1 is {narrow / wide:.2f} times as fast",
            f"{density}, skip till next: {following:,.0f} events/s; any is {rate / following:.2f} times as fast",
        ]
    return "\n".join(lines)


REPORTED = {
    "half interval δ": (
        "Fig. 3.7(a), skip till any: any state falls linearly with δ, query order stays best, selectivity is between."
    ),
    "window W": "Fig. 3.6(b), skip till any: the event-based method falls with W, far less than the point-based one.",
    "length l": "Fig. 3.7(b), skip till any: any state and selectivity fall quickly with l, query order falls least.",
    "events for the first step, in %": (
        "Fig. 3.7(c), skip till any: below 5 % query order is ahead of selectivity, above it selectivity is best."
    ),
}
FILES = ("half_interval", "window", "length", "frequencies")


def plots(rows: Sequence[Row]) -> dict[str, str]:
    """One drawing per sweep: a panel for each strategy, a line for each order."""
    rates = _rates(rows)
    return {
        f"{NAME}_{file}": drawing(
            [Panel(title, axis, _lines(rates, axis, strategy)) for strategy, title in STRATEGIES.items()],
            f"The thesis, {REPORTED[axis]}",
        )
        for file, axis in zip(FILES, REPORTED, strict=True)
    }


def _lines(rates: Mapping[str, float], axis: str, strategy: str) -> list[Line]:
    found = []
    for density, sweeps in SWEEPS.items():
        for order in ORDERS:
            settings = {x: str(replace(s, strategy=strategy, order=order)) for x, s in sweeps.get(axis, {}).items()}
            points = [(x, rates[name]) for x, name in sorted(settings.items()) if name in rates]
            if points:
                found.append(Line(order if density == "sparse" else f"{order}, {density}", points))
    return found
