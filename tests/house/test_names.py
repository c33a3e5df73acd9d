"""Names say what a thing is: no catch-all modules, no pattern-book classes, no get_."""

import ast
import re
from pathlib import PurePosixPath

CATCH_ALL = {"base", "common", "factory", "helper", "helpers", "manager", "misc", "util", "utils"}
CLASS = re.compile(r"(Base|Factory|Helpers?|Manager|Utils?)$|^Base[A-Z]")


def bad_names(modules: dict[str, str]) -> list[str]:
    """Modules, classes and functions whose name says nothing."""
    found = []
    for path, text in modules.items():
        words = {word for part in PurePosixPath(path).with_suffix("").parts for word in part.split("_")}
        if words & CATCH_ALL:
            found.append(path)
        for node in ast.walk(ast.parse(text)):
            bad_class = isinstance(node, ast.ClassDef) and CLASS.search(node.name)
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if bad_class or (function and node.name.lstrip("_").startswith("get_")):
                found.append(f"{path}:{node.lineno}: {node.name}")
    return found


def test_names_say_something(modules):
    assert bad_names(modules) == []


def test_empty_names_are_noticed():
    bad = {"plan/utils.py": "", "plan/type_helpers.py": "", "a.py": "class NodeFactory:\n    def get_node(self): ..."}
    assert bad_names(bad) == ["plan/utils.py", "plan/type_helpers.py", "a.py:1: NodeFactory", "a.py:2: get_node"]
    assert bad_names({"plan/pattern.py": "class Database:\n    def together(self): ..."}) == []
