"""The demo: a simulated day of a cluster, the questions of its operators, and whether the answers are right.

Idea: nobody has to believe an engine. The same queries are asked in this process and on Spark, match ids are compared
one by one, and both with what the simulator knows to have happened: first with exact times (`demo_exact`), then with
the times an operator would have (`demo_uncertain`). Invariant: exit code 1 whenever anything differs.
"""

from __future__ import annotations

import time

from whenabouts.app import demo_exact, demo_uncertain
from whenabouts.app.answers import ask_here, ask_on_spark
from whenabouts.app.exit_codes import DONE, FAILED
from whenabouts.app.terminal import Terminal
from whenabouts.simulate.cluster import SMALL, ClusterConfig, simulate_cluster


def show(terminal: Terminal, *, engine: str, small: bool) -> int:
    """Run the demo, print what it found; the exit code."""
    began = time.perf_counter()
    with terminal.working("simulating a day of a cluster …") as say:
        day = simulate_cluster(SMALL if small else ClusterConfig())
        exact = demo_exact.ask_about(day)
        uncertain = demo_uncertain.ask_about(day, small=small)
        answers = [*(e.answer for e in exact), *(u.answer for u in uncertain)]
        if engine != "spark":
            ask_here(answers, say)
        start = ask_on_spark(answers, say) if engine != "local" else None
        say("comparing with what the simulator knows …")
        demo_exact.judge_all(exact, day)
        demo_uncertain.judge_all(uncertain)
    demo_exact.show(terminal, exact, day)
    demo_uncertain.show(terminal, uncertain)
    wrong = [e.answer.name for e in exact if not e.right] + [u.answer.name for u in uncertain if not u.right]
    seconds = time.perf_counter() - began
    terminal.say(f"\n{_conclusion(wrong, start, both=engine == 'both')} {seconds:.0f} s in all.")
    content = {
        "events": day.events.num_rows,
        "queries": [e.numbers() for e in exact],
        "uncertain": [u.numbers() for u in uncertain],
    }
    terminal.answer(content | {"spark_start_seconds": start, "seconds": round(seconds, 3)}, ok=not wrong)
    return FAILED if wrong else DONE


def _conclusion(wrong: list[str], spark_start: float | None, *, both: bool) -> str:
    if wrong:
        return f"WRONG: {', '.join(wrong)}."
    agree = f" Both engines agree; Spark was ready after {spark_start:.0f} s." if both else ""
    return f"Every answer agrees with what the simulator knows.{agree}"
