"""How kernels are compiled and kept."""

from typing import Any

import numba
import pytest

from lexbandit.kernels import jit
from lexbandit.policies.cells.moc_mab import LexicographicRule

pytestmark = pytest.mark.compiled


def test_kernels_release_the_lock_and_are_kept_on_disk() -> None:
    replay: Any = LexicographicRule._rule.replay
    assert replay.targetoptions["nogil"]
    assert jit._FOLDER is not None
    assert replay._cache.cache_path.startswith(str(jit._FOLDER))


def test_the_folder_changes_with_any_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """A copy of the kernels, one of them edited, is kept elsewhere."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    sources = tmp_path / "kernels"
    sources.mkdir()
    for name in ("jit.py", "ties.py"):
        (sources / name).write_text("x = 1")
    monkeypatch.setattr(jit, "__file__", str(sources / "jit.py"))
    before = jit._cache_folder()
    assert jit._cache_folder() == before
    (sources / "ties.py").write_text("x = 2")
    assert jit._cache_folder() != before


def test_other_users_of_numba_keep_their_folder() -> None:
    settings: Any = numba.config
    before = settings.CACHE_DIR
    jit.kernel(lambda x: x)
    assert settings.CACHE_DIR == before != str(jit._FOLDER)
