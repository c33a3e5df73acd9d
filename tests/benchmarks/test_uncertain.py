"""The benchmarks of uncertain time, tiny: right answers pass, wrong ones do not, and everything is reported."""

from dataclasses import replace

import pytest

from benchmarks.measure import Benchmark, measure
from benchmarks.micro import sawtooth, worlds
from tests.uncertain import engines
from whenabouts.simulate.sawtooth import MODULI

USUAL = [
    replace(sawtooth.Setting(MODULI[density][3], label=density), strategy=strategy, half_width=half_width)
    for density in MODULI
    for strategy, half_width in (("any", 1), ("any", 10), ("any", 50), ("next", 10))
]


def test_sawtooth_answers_are_the_possible_chains_in_every_order():
    following = next(s for s in USUAL if (s.label, s.strategy) == ("sparse", "next"))
    settings = [*USUAL, *(replace(following, order=order) for order in sawtooth.ORDERS)]
    variants = {str(setting): sawtooth.VARIANTS[str(setting)] for setting in settings}
    rows = measure(replace(Benchmark.of(sawtooth), variants=variants), "tiny", 1)
    assert all(row.figures["matches"] > 5 for row in rows)
    assert sawtooth.conclusion(rows).count("times as fast") == 2 * len(MODULI)
    assert set(sawtooth.plots(rows)) == {f"sawtooth_{file}" for file in sawtooth.FILES}


def test_a_missing_match_and_a_wrong_confidence_are_noticed():
    streams = sawtooth.load("tiny")
    setting, rows = sawtooth.ask(USUAL[0], streams)
    with pytest.raises(AssertionError, match="which are not the"):
        sawtooth.check(sawtooth.load("tiny"), (setting, rows.slice(1)))
    wrong = rows.set_column(rows.column_names.index("confidence"), "confidence", [[0.25] * rows.num_rows])
    with pytest.raises(AssertionError, match="instead of"):
        sawtooth.check(sawtooth.load("tiny"), (setting, wrong))
    sawtooth.check(streams, (setting, rows))
    with pytest.raises(AssertionError, match="another order"):
        sawtooth.check(streams, (setting, wrong))


def test_every_family_is_compared_with_the_worlds():
    tallies = {
        family: worlds.compared(family, seed=7, tables=4) for family in ("next", "negation", "next closures, sets")
    }
    for tally in tallies.values():
        worlds.check(worlds.load("tiny"), tally)
        assert (tally.cases, tally.refused, tally.mismatches) == (4, 0, 0)
        assert 0 < tally.uncertain <= tally.matches
    assert list(worlds.VARIANTS) == list(worlds.FAMILIES)


def test_a_mismatch_is_made_small_and_named(monkeypatch):
    monkeypatch.setattr(worlds, "answers", lambda plan, table, order: ({}, engines.answers(plan, table, order)[1]))
    tally = worlds.compared("next", seed=7, tables=2)
    assert tally.mismatches > 0
    assert "'next', seed 7, table" in tally.reports
    with pytest.raises(AssertionError, match="PATTERN SEQ"):
        worlds.check(worlds.load("tiny"), tally)
