"""Copied code: less than 2 % of all tokens may stand in an exact repeat of 70 tokens."""

import ast
import io
import tokenize

REPEAT = 70
SHARE = 0.02
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_tokens(text: str) -> list[str]:
    """Return the tokens of a module without layout, comments, imports and docstrings."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        bare_string = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if bare_string or isinstance(node, ast.Import | ast.ImportFrom):
            skipped.update(range(node.lineno, node.end_lineno + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type not in LAYOUT and token.start[0] not in skipped]


def copied(modules: dict[str, str]) -> tuple[float, set[str]]:
    """Return the share of tokens in a repeat, and the modules they stand in."""
    streams = {path: code_tokens(text) for path, text in modules.items()}
    seen: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    for path, tokens in streams.items():
        for start in range(len(tokens) - REPEAT + 1):
            seen.setdefault(tuple(tokens[start : start + REPEAT]), []).append((path, start))
    repeats = [place for places in seen.values() if len(places) > 1 for place in places]
    covered = {(path, start + offset) for path, start in repeats for offset in range(REPEAT)}
    return len(covered) / max(1, sum(map(len, streams.values()))), {path for path, _ in covered}


def test_little_code_is_copied(modules):
    share, paths = copied(modules)
    assert share < SHARE, f"{share:.1%} of the code stands twice, in {sorted(paths)}"


def test_a_copy_is_noticed():
    function = "def f(x):\n" + "".join(f"    x += {i} * x\n" for i in range(20))
    other = "def g(y):\n" + "".join(f"    y -= {i} / y\n" for i in range(20))
    assert copied({"a.py": function, "b.py": other})[0] == 0
    share, paths = copied({"a.py": function, "b.py": '"""Comments do not hide a copy."""\n' + function + other})
    assert share > 0.5
    assert paths == {"a.py", "b.py"}
