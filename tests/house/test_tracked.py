"""Tracked files are small and name no machine: no absolute home path, no registry host."""

import re
import shutil
import subprocess

import pytest

from tests.house.conftest import ROOT

BYTES = 1_000_000
MACHINE = re.compile(r"(?<![\w.}>-])/(?:home|root|work|Users)/\w")
REGISTRY = re.compile(r"\b(?:pypi\.org|pythonhosted\.org|deb\.debian\.org|repo1?\.maven\.(?:org|apache\.org))\b")


def faults(name: str, content: bytes) -> list[str]:
    """What is wrong with a tracked file."""
    found = [f"{name}: {len(content)} bytes"] if len(content) >= BYTES else []
    for number, line in enumerate(content.decode(errors="ignore").splitlines(), start=1):
        found += [f"{name}:{number}: {hit[0]}" for pattern in (MACHINE, REGISTRY) for hit in pattern.finditer(line)]
    return found


def test_tracked_files_are_small_and_name_no_machine():
    if not ((ROOT / ".git").exists() and shutil.which("git")):
        pytest.skip("not a git checkout: nobody knows which files are tracked")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    assert [fault for path in paths if path.is_file() for fault in faults(path.name, path.read_bytes())] == []


def test_faults_are_noticed():
    assert faults("big", b"x" * BYTES) == ["big: 1000000 bytes"]
    assert len(faults("a", b"cd /" + b"home/me")) == 1
    assert len(faults("a", b"\nurl = https://files.pythonhosted" + b".org/x")) == 1
    assert faults("a", b"https://example.com/" + b"home/page ./work/x") == []
