"""A match drawn as a timeline in plain text: one line of marks per step, over one axis of time.

Idea: a time is a column of a line; what is written below the marks (values) takes the places that are still free, the
first and last mark before the others. Invariant: every event has its mark, and no line is wider than asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

MARK, MANY, RULE = "●", "◉", "·"
NARROWEST = 20


@dataclass(frozen=True, slots=True)
class Track:
    """The events of a step: its name, their type, when they happened, and a short text for each (may be empty)."""

    step: str
    kind: str
    times: Sequence[datetime]
    texts: Sequence[str] = ()


def draw(title: str, tracks: Sequence[Track], width: int = 100) -> str:
    """The title, then the tracks, then the axis."""
    named = [t for t in tracks if t.times]
    times = [moment for t in named for moment in t.times]
    if not times:
        return title
    margin = max(len(_label(t)) for t in named) + 2
    room = max(NARROWEST, width - margin - 1)
    first, last = min(times), max(times)
    lines = [title]
    for track in named:
        places = [_column(moment, first, last, room) for moment in track.times]
        lines.append(_label(track).ljust(margin) + _marks(places, room))
        texts = _texts(places, track.texts, room)
        if texts:
            lines.append(" " * margin + texts)
    return "\n".join([*lines, " " * margin + _axis(first, last, room)])


def short(length: timedelta) -> str:
    """A length of time in two units at most: 42.5 s, 3 min 5 s, 2 h 10 min."""
    seconds = length.total_seconds()
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def _label(track: Track) -> str:
    count = f" ×{len(track.times)}" if len(track.times) > 1 else ""
    return f"  {track.step} {track.kind}{count}"


def _column(moment: datetime, first: datetime, last: datetime, room: int) -> int:
    span = last - first
    return 0 if not span else round((moment - first) / span * (room - 1))


def _marks(places: Sequence[int], room: int) -> str:
    line = [RULE] * room
    for place in places:
        line[place] = MARK if line[place] == RULE else MANY
    return "".join(line)


def _texts(places: Sequence[int], texts: Sequence[str], room: int) -> str:
    """Texts under their marks where there is room."""
    line = [" "] * (room + 1)
    order = sorted(range(len(texts)), key=lambda i: (i not in (0, len(texts) - 1), i))
    for i in order:
        text = texts[i]
        start = max(0, min(places[i] - len(text) // 2, room - len(text)))
        around = line[max(0, start - 1) : start + len(text) + 1]
        if text and len(text) <= room and all(c == " " for c in around):
            line[start : start + len(text)] = text
    return "".join(line).rstrip()


def _axis(first: datetime, last: datetime, room: int) -> str:
    left, right = f"{first:%H:%M:%S}", f"{last:%H:%M:%S}"
    middle = short(last - first).center(max(0, room - len(left) - len(right)))
    return f"{left}{middle}{right}"


# ---------------------------------------------------------------- uncertain times

OBSERVED, POSSIBLE, RECORDED, HAPPENED = "─", "━", "○", "●"


@dataclass(frozen=True, slots=True)
class Interval:
    """An event of a step: when it can have happened, when in this match, what was recorded, and the truth."""

    step: str
    kind: str
    observed: tuple[datetime, datetime]
    possible: tuple[datetime, datetime]
    recorded: datetime | None = None
    happened: datetime | None = None


def draw_intervals(title: str, intervals: Sequence[Interval], width: int = 100) -> str:
    """The title, then a line per interval, then the axis; marks stand above lines, the truth above all."""
    labels = [f"  {i.step} {i.kind}" for i in intervals]
    margin = max(map(len, labels)) + 2
    room = max(NARROWEST, width - margin - 1)
    first, last = min(i.observed[0] for i in intervals), max(i.observed[1] for i in intervals)
    lines = [title]
    for label, interval in zip(labels, intervals, strict=True):
        line = [" "] * room
        for (begin, end), mark in ((interval.observed, OBSERVED), (interval.possible, POSSIBLE)):
            left, right = (_column(moment, first, last, room) for moment in (begin, end))
            line[left : right + 1] = mark * (right + 1 - left)
        for moment, mark in ((interval.recorded, RECORDED), (interval.happened, HAPPENED)):
            if moment is not None:
                line[_column(moment, first, last, room)] = mark
        lines.append((label.ljust(margin) + "".join(line)).rstrip())
    return "\n".join([*lines, " " * margin + _axis(first, last, room)])
