"""Where things are kept that can be made again."""

import pwd
from pathlib import Path

import pytest

from lexbandit._internal import vega_script
from lexbandit._internal.caches import cache_root
from lexbandit.errors import InvalidInput
from lexbandit.kernels import jit
from lexbandit.logs.r6a import cache_folder
from lexbandit.logs.r6a_synthetic import prepare_synthetic


def test_a_user_without_a_home_has_no_cache_and_no_folder_called_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(_: int) -> None:
        raise KeyError

    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert jit._cache_folder() is None
    with pytest.raises(OSError, match="Not a directory"):
        vega_script._keep(cache_root() / "script", b"")
    with pytest.raises(InvalidInput, match="cannot make the folder"):
        prepare_synthetic(rows=10, seed=0, cache=cache_folder())
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_root() == tmp_path / ".cache" / "lexbandit"
