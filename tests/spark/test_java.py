"""The Java that Spark runs on: too old ones are passed over."""

from pathlib import Path

import pytest

from whenabouts.spark.java import find_java_home, java_version


def java(home: Path, version: str) -> Path:
    """A program that answers like `java -version`."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 1), ("17.0.15", 17), ("21", 21)])
def test_version_is_read(tmp_path, version, major):
    assert java_version(java(tmp_path, version)) == major


def test_no_java_has_no_version(tmp_path):
    assert java_version(tmp_path) is None


def test_java_home_comes_before_path(tmp_path, monkeypatch):
    home, other = java(tmp_path / "home", "17.0.1"), java(tmp_path / "other", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(other / "bin"), prepend=":")
    assert find_java_home() == str(home)


def test_java_that_is_too_old_is_passed_over(tmp_path, monkeypatch):
    old, new = java(tmp_path / "old", "1.8.0_392"), java(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(new / "bin"), prepend=":")
    assert find_java_home() == str(new)
