"""The public names: at most 15, each with a docstring of its own."""

from types import SimpleNamespace

import pytest

import whenabouts

MOST = 15


def public_faults(package: object) -> list[str]:
    """What is wrong with the names a package shows."""
    names = getattr(package, "__all__", [])
    missing = [f"{name} does not exist" for name in names if not hasattr(package, name)]
    silent = [f"{name} has no docstring" for name in names if not getattr(getattr(package, name, 0), "__doc__", None)]
    too_many = [f"{len(names)} public names, at most {MOST}"] if len(names) > MOST else []
    return too_many + missing + silent


def test_public_names_are_few_and_documented():
    assert public_faults(whenabouts) == []


def test_names_are_imported_when_they_are_used():
    assert sorted(name for names in whenabouts._ROOMS.values() for name in names) == whenabouts.__all__
    with pytest.raises(AttributeError, match="gone"):
        whenabouts.gone  # noqa: B018


def test_faults_are_noticed():
    def silent() -> None: ...

    assert public_faults(SimpleNamespace(__all__=["silent"], silent=silent)) == ["silent has no docstring"]
    assert public_faults(SimpleNamespace(__all__=["gone"])) == ["gone does not exist"]
    assert public_faults(SimpleNamespace(__all__=["n"] * 16, n=1)) == ["16 public names, at most 15"]
