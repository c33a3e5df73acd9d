"""Ctrl-C while machine code runs.

Problem: a signal is handled at the next Python bytecode, and after a match loop the next ones are those by which Numba
makes Python objects of its results; it does not expect an exception there, and the process dies. Idea: meanwhile only
note the signal, and hand it to its handler afterwards. Invariant: no signal is lost, and the handler is back in any
case.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any


def uninterrupted(loop: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; an interruption while it runs takes effect when it returns."""

    @wraps(loop)
    def call(*arguments: Any) -> Any:
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler) or threading.current_thread() is not threading.main_thread():
            return loop(*arguments)  # no Python code would run
        noted: list[Any] = []
        signal.signal(signal.SIGINT, lambda *received: noted.append(received))
        try:
            return loop(*arguments)
        finally:
            signal.signal(signal.SIGINT, handler)
            if noted:
                handler(*noted[-1])

    return call
