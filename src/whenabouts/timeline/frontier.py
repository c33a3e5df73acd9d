"""How far uncertain time has come: no event still to come begins before the frontier.

Problem: when is it certain that nothing unseen can change a match? Idea: two promises. Order of arrival: an event that
arrives earlier does not begin after one that arrives later has ended, so nothing unseen begins more than the widest
interval before the latest beginning seen; how wide events can be belongs to the promise, and the widest one seen stands
in where nobody said it. A watermark w: nothing unseen begins at or before w. The frontier is the better of both. An
event that breaks the promise is late: it is told apart, never silently matched or lost.
Invariant: the frontier only grows. Reference: spec of imprecise time, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]

NOWHERE = np.iinfo(np.int64).min  # before anything was seen or promised


@dataclass(frozen=True, slots=True)
class Frontier:
    """What has been seen, in ticks. `ordered` says whether the order of arrival may be relied upon."""

    ordered: bool = True
    latest: int = NOWHERE  # greatest lower bound seen
    widest: int = 1  # most ticks of an event, promised or seen
    watermark: int = NOWHERE

    @property
    def at(self) -> int:
        """Every event still to come has a lower bound of at least this."""
        by_order = self.latest - self.widest + 1 if self.ordered and self.latest != NOWHERE else NOWHERE
        return max(by_order, self.watermark + 1 if self.watermark != NOWHERE else NOWHERE)

    def seen(self, lower: I64, upper: I64) -> Frontier:
        """The frontier behind these events; the widest of them counts before the latest does."""
        if lower.size == 0:
            return self
        latest, widest = max(self.latest, int(lower.max())), max(self.widest, int((upper - lower).max()) + 1)
        after = replace(self, latest=latest, widest=widest)
        return after if after.at >= self.at else replace(after, watermark=self.at - 1)

    def promised(self, watermark: int) -> Frontier:
        """The frontier once nothing to come begins at or before the watermark."""
        return replace(self, watermark=max(self.watermark, watermark))

    def late(self, lower: I64) -> npt.NDArray[np.bool_]:
        """Which events break the promise."""
        return np.asarray(lower < self.at)
