"""Ctrl-C in the middle of a match loop."""

import ctypes
import signal

import pytest

import whenabouts as wa
from whenabouts.language import aggregates

interrupt = ctypes.CDLL(None)["raise"]
interrupt.argtypes, interrupt.restype = [ctypes.c_int], ctypes.c_int
SIGNAL = int(signal.SIGINT)


@pytest.fixture(scope="module")
def stopping():
    """An aggregate that, from inside the loop, sends the signal to its own process."""
    aggregates.aggregate(
        "stopping", init=(0.0,), step=lambda state, _: (state[0] + interrupt(SIGNAL),), final=lambda state: state[0]
    )
    yield "stopping"
    del aggregates._REGISTERED["stopping"]


@pytest.mark.parametrize("strategy", ["skip_till_next_match", "skip_till_any_match"])
def test_an_interruption_is_raised_when_the_loop_has_ended(stopping, strategy):
    events = [{"id": i, "type": "AAAB"[i % 4], "time": i, "v": i} for i in range(8)]
    query = wa.query(f"PATTERN SEQ(A+ a[], B b) WHERE {strategy} AND {stopping}(a[].v) >= 0")
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        query.match(events)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(wa.query(f"PATTERN SEQ(A+ a[], B b) WHERE {strategy}").match(events)) > 0
