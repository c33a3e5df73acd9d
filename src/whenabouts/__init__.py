"""Pattern queries over events whose time cannot be trusted."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whenabouts.engine import BadRowsWarning, PatternQuery, Run, query
    from whenabouts.errors import QueryError, WhenaboutsError
    from whenabouts.events.roles import ErrorTable
    from whenabouts.language.aggregates import aggregate
    from whenabouts.language.builder import absent, all_of, any_of, seq, step, union
    from whenabouts.timeline.detection import detection_pmf

__all__ = [
    "BadRowsWarning",
    "ErrorTable",
    "PatternQuery",
    "QueryError",
    "Run",
    "WhenaboutsError",
    "absent",
    "aggregate",
    "all_of",
    "any_of",
    "detection_pmf",
    "query",
    "seq",
    "step",
    "union",
]

_ROOMS = {
    "engine": ("BadRowsWarning", "PatternQuery", "Run", "query"),
    "errors": ("QueryError", "WhenaboutsError"),
    "events.roles": ("ErrorTable",),
    "language.aggregates": ("aggregate",),
    "language.builder": ("absent", "all_of", "any_of", "seq", "step", "union"),
    "timeline.detection": ("detection_pmf",),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: Arrow and Numba take seconds, and the command line is heard first."""
    for room, names in _ROOMS.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"{__name__}.{room}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
