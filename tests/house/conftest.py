"""What the house tests look at."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def modules() -> dict[str, str]:
    """Source text by path below src/whenabouts, with forward slashes."""
    house = ROOT / "src" / "whenabouts"
    return {path.relative_to(house).as_posix(): path.read_text("utf-8") for path in sorted(house.rglob("*.py"))}
