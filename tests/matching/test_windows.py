"""Windows at the edge of 64 bits."""

import whenabouts as wa

LARGEST, HALF = 2**63 - 1, 2**62


def test_times_so_far_apart_that_their_difference_overflows_are_set_aside() -> None:
    times = [-LARGEST, -HALF, 1 - HALF, HALF - 1, HALF, LARGEST]
    events = [{"id": i, "type": "AB"[i % 2], "time": t, "v": 1} for i, t in enumerate(times)]
    for strategy in ("skip_till_next_match", "skip_till_any_match", "latest", "strict_contiguity"):
        for returned in ("", "RETURN TOTAL count(*)", "RETURN COLLAPSED"):
            if returned and strategy != "skip_till_any_match":
                continue
            query = wa.query(f"PATTERN SEQ(A a, B b) WHERE {strategy} WITHIN 10 {returned}")
            run = query.run(events)
            assert [r["count"] for r in run.matches] == [0] if "TOTAL" in returned else run.matches == []
            assert {(r["id"], r["reason"]) for r in run.bad_rows} == {(i, "time out of range") for i in (0, 1, 4, 5)}
    assert len(wa.query("PATTERN SEQ(A a, B b) WHERE b.time - a.time > 0").run(events).matches) == 1
