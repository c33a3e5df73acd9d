"""Executors often cannot write beside the sources or at home; compiled loops then go elsewhere."""

import pytest
from numba import config

from whenabouts.kernels import cache


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No directory of Numba's own choice is writable."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(cache, "writable", lambda directory: False)
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_read_only_installations_compile_elsewhere(nowhere):
    cache.choose_cache_directory()
    (chosen,) = nowhere.iterdir()
    assert str(chosen) == config.CACHE_DIR
    assert chosen.stat().st_mode & 0o777 == 0o700


def test_a_directory_open_to_others_is_not_trusted(nowhere):
    cache.choose_cache_directory()
    (chosen,) = nowhere.iterdir()
    chosen.chmod(0o777)
    config.CACHE_DIR = ""
    cache.choose_cache_directory()
    assert config.CACHE_DIR not in ("", str(chosen))


def test_a_directory_somebody_named_is_kept(nowhere, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", "/named")
    cache.choose_cache_directory()
    assert config.CACHE_DIR == "/named"


def test_what_cannot_be_made_is_not_writable(tmp_path):
    (tmp_path / "file").touch()
    assert cache.writable(tmp_path / "new")
    assert not cache.writable(tmp_path / "file" / "below")
