"""How kernels are compiled and kept."""

from typing import Any

import numba
import pytest

from lexbandit.kernels import cells, jit
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


@jit.kernel
def _first(_cells: cells.Cells, _slot: int, _ceilings: object, _row: int) -> int:
    return 1


@jit.kernel
def _second(_cells: cells.Cells, _slot: int, _ceilings: object, _row: int) -> int:
    return 1


def test_loops_around_different_rules_have_different_names() -> None:
    """Else one would be read from the other's place in the cache, also when they differ inside."""
    rules = [cells.cell_rule(mark=mark) for mark in (_first, _second)]
    for loop in ("select", "select_many", "replay", "shares"):
        names = {getattr(rule, loop).py_func.__qualname__ for rule in rules}
        assert len(names) == 2, loop
