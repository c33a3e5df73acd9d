"""Drawings are well-formed, hold every line and point, and put equal values at equal heights."""

from xml.etree import ElementTree as ET

from benchmarks.plot import Line, Panel, drawing

SVG = "{http://www.w3.org/2000/svg}"


def test_lines_share_one_scale_and_one_legend():
    lines = [Line("query", [(1, 2e6), (50, 3e5)]), Line("any & all", [(1, 2e6), (50, 4_000)])]
    text = drawing([Panel("any", "δ", lines), Panel("next", "δ", lines[:1])], "what was reported")
    root = ET.fromstring(text)  # noqa: S314 - our own text
    paths = [line.get("points").split() for line in root.iter(f"{SVG}polyline")]
    assert [len(path) for path in paths] == [2, 2, 2]
    assert paths[0] == paths[2]
    assert paths[0][0] == paths[1][0]
    heights = [float(point.split(",")[1]) for point in paths[0]]
    assert heights[0] < heights[1]
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert words.count("query") == words.count("any & all") == 1
    assert {"any", "next", "δ", "1", "50", "10 M", "1 k", "what was reported"} <= set(words)
    assert len(text.encode()) < 50_000
