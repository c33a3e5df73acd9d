"""Medical tools on their way through the locations of a hospital, seen by RFID readers that now and then miss them.

Problem: a tool has to pass its stations in order, but a reader sees it only at its first successful reading; when the
tool arrived is uncertain, and not uniformly so.
Idea: a reader tries once per tick and succeeds with probability p, so the tool arrived m ticks before it was read with
probability p (1-p)**m. As in the thesis m is cut off at U ticks where (1-p)**U, the mass behind, is about 1e-10; the
rest is divided by its sum, so that it is a distribution. Readings come first, arrivals are drawn (see `observed`).
Invariants: `upper` is the tick of the first reading, `lower` U - 1 ticks before it; a pmf lists its ticks in ascending
order and ends with the most probable one; visits of one round never share a window of 10 minutes with another round.
Reference: section 3.7.3 and Table 3.3 of the thesis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whenabouts.simulate.cluster_log import START, Floats, Ints
from whenabouts.simulate.observed import Observed


class Reader(NamedTuple):
    """The probability that a reading succeeds, and after how many ticks an arrival is ruled out."""

    read_rate: float
    ticks: int

    @property
    def lost(self) -> float:
        """The probability that all these readings fail: mass that is left out."""
        return (1 - self.read_rate) ** self.ticks

    @property
    def pmf(self) -> Floats:
        """When the tool arrived, from the first of the ticks to that of the first successful reading."""
        missed = np.arange(self.ticks - 1, -1, -1)
        mass = self.read_rate * (1 - self.read_rate) ** missed
        return mass / mass.sum()


READERS = (Reader(0.9, 10), Reader(0.8, 14), Reader(0.7, 19))
"""Settings 1 to 3 of Table 3.3, one reading per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RfidConfig:
    """What to simulate: every round takes a tool to all locations. 417 rounds are the 300,000 events of the thesis."""

    tools: int = 90
    locations: int = 8
    rounds: int = 40
    reader: Reader = READERS[0]
    wrong_probability: float = 0.1  # of a round: two locations change places
    hurried_probability: float = 0.25  # of a move: it takes seconds, so that what came first is uncertain
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.tools, self.rounds) < 1:
            raise ValueError("there must be at least one tool and one round")
        if self.locations < 3:
            raise ValueError(f"locations is {self.locations}, it must be at least 3")
        for name in ("wrong_probability", "hurried_probability"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, it must be between 0 and 1")
        if not 0 < self.reader.read_rate < 1 or self.reader.ticks < 1:
            raise ValueError(f"{self.reader} never reads, never misses, or has no tick")


@dataclass(frozen=True, slots=True)
class RfidTrace:
    """What was read, and which way the tools went."""

    observed: Observed
    """ObjectAppear events in the order of reading: id, type, lower, upper (in s), pmf, itemId, location."""
    rounds: pa.Table
    """itemId, round, wrong (whether two locations changed places), events (ids in the order of reading)."""


def simulate_rfid(config: RfidConfig | None = None) -> RfidTrace:
    """Move the tools, round after round, and read them."""
    config = config or RfidConfig()
    rng = np.random.default_rng(config.seed)
    read = _readings(config, rng)
    wrong, location = _routes(config, rng)
    missed = config.reader.ticks - 1 - rng.choice(config.reader.ticks, size=read.size, p=config.reader.pmf)

    order = np.argsort(read.ravel(), kind="stable")
    ids = np.empty(read.size, np.int64)
    ids[order] = np.arange(1, read.size + 1)
    moment = read.ravel()[order]
    tool = order // (config.rounds * config.locations)
    names = pa.array([f"tool{number:03d}" for number in range(config.tools)])
    places = pa.array([f"Location{number}" for number in range(1, config.locations + 1)])
    events = pa.table(
        {
            "id": np.arange(1, read.size + 1),
            "type": pa.repeat("ObjectAppear", read.size),
            "lower": _moments(moment - config.reader.ticks + 1),
            "upper": _moments(moment),
            "pmf": _repeated(config.reader.pmf, read.size),
            "itemId": names.take(pa.array(tool)),
            "location": places.take(pa.array(location.ravel()[order])),
        }
    )
    owner = np.arange(wrong.size)
    rounds = pa.table(
        {
            "itemId": names.take(pa.array(owner // config.rounds)),
            "round": owner % config.rounds,
            "wrong": wrong,
            "events": _lists(ids, config.locations),
        }
    )
    return RfidTrace(Observed(events, _moments(moment - missed[order]), _moments(moment)), rounds)


def tracking_query(strategy: Literal["any", "next"] = "next") -> str:
    """Query 5: tools that came to Location1, Location2 and Location3 in this order, within 10 minutes."""
    return f"""\
PATTERN SEQ(ObjectAppear a, ObjectAppear b, ObjectAppear c)
WHERE a.itemId = b.itemId AND b.itemId = c.itemId
  AND a.location = 'Location1' AND b.location = 'Location2' AND c.location = 'Location3'
  AND skip_till_{strategy}_match
WITHIN 10 minutes"""


def _readings(config: RfidConfig, rng: np.random.Generator) -> Ints:
    """When each tool is first read at each stop, in seconds: tools x (rounds x stops)."""
    shape = (config.tools, config.rounds, config.locations)
    hurried = rng.random(shape) < config.hurried_probability
    pause = np.where(hurried, rng.integers(1, 8, shape, endpoint=True), rng.integers(30, 400, shape, endpoint=True))
    # 10 minutes and an interval's length part two rounds, so that no match can reach across
    pause[:, :, 0] = 600 + config.reader.ticks + rng.integers(0, 1200, shape[:2])
    return np.cumsum(pause.reshape(config.tools, -1), axis=1)


def _routes(config: RfidConfig, rng: np.random.Generator) -> tuple[npt.NDArray[np.bool_], Ints]:
    """For each round of each tool, whether it goes wrong, and the locations in the order of its stops, from 0."""
    count = config.tools * config.rounds
    wrong = rng.random(count) < config.wrong_probability
    location = np.tile(np.arange(config.locations), (count, 1))
    rows = np.flatnonzero(wrong)
    one = rng.integers(config.locations, size=rows.size)
    other = (one + rng.integers(1, config.locations, size=rows.size)) % config.locations
    location[rows, one], location[rows, other] = other, one
    return wrong, location


def _moments(seconds: Ints) -> pa.Array:
    return pa.array(START.astype("datetime64[s]") + seconds)


def _repeated(values: Floats, times: int) -> pa.ListArray:
    return _lists(np.tile(values, times), values.size)


def _lists(values: Ints | Floats, length: int) -> pa.ListArray:
    """The values, as lists of equal length."""
    return pa.ListArray.from_arrays(pa.array(np.arange(0, values.size + 1, length), pa.int32()), pa.array(values))
