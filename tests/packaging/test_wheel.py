"""What a user gets: the wheel holds the whole house, and README's first example prints what it says."""

import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
CLI = ROOT / "src" / "whenabouts" / "app" / "cli.py"
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```.*?```\w*\n(?P<output>.*?)```", re.DOTALL)

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """Return what a command prints; a failure shows everything it printed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    return next(out.glob("whenabouts-*.whl"))


@pytest.fixture(scope="module")
def binaries(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment: the wheel, and the dependencies of this environment."""
    home = tmp_path_factory.mktemp("user")
    venv.create(home, with_pip=False)
    binaries = home / ("Scripts" if sys.platform == "win32" else "bin")
    run(sys.executable, "-m", "pip", "--python", binaries / "python", "install", "--no-deps", wheel, cwd=home)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    purelib = Path(run(binaries / "python", "-c", where, cwd=home).strip())
    (purelib / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return binaries


def test_wheel_holds_the_whole_house_and_nothing_else(wheel: Path):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    house = ROOT / "src"
    modules = {path.relative_to(house).as_posix() for path in house.rglob("*.py")}
    assert modules | {"whenabouts/py.typed"} <= packed
    assert {name.split("/")[0] for name in packed} == {"whenabouts"}


def test_installed_package_is_the_wheel(binaries: Path):
    path = run(binaries / "python", "-c", "import whenabouts; print(whenabouts.__file__)", cwd=binaries).strip()
    assert Path(path).is_relative_to(binaries.parent)


def test_help_is_printed(binaries: Path):
    if not CLI.exists():
        pytest.skip("the command line is not written yet")
    assert "Usage" in run(binaries / "whenabouts", "--help", cwd=binaries)


def test_readme_example_prints_what_it_says(binaries: Path):
    example = EXAMPLE.search(README.read_text("utf-8"))
    if example is None:
        pytest.skip("README.md has no Python block followed by its output")
    printed = run(binaries / "python", "-c", example["code"], cwd=binaries)
    assert printed.split() == example["output"].split()
