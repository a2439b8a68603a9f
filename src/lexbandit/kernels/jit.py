"""The one decorator of every kernel, and where compiled kernels are kept.

numba decides whether a cached kernel is fresh by the file it stands in, and does not notice that
a kernel it calls was edited in another file. So the cache folder is named by a hash of all kernel
sources: edit any of them and all are compiled anew.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from lexbandit.caches import cache_root

F = TypeVar("F", bound=Callable[..., object])


def _cache_folder() -> Path | None:
    """Return the folder for compiled kernels, or None where nothing can be written."""
    digest = hashlib.sha256(f"{sys.version_info} {numba.__version__}".encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    root = Path(os.environ.get("NUMBA_CACHE_DIR") or cache_root())
    folder = root / f"kernels-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


_FOLDER = _cache_folder()


def _compiled(function: F, *, inlined: bool) -> F:
    # numba reads the folder when it decorates; other users of numba keep theirs.
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(_FOLDER or "")
    try:
        compile_: Any = numba.njit(
            nogil=True, cache=_FOLDER is not None, error_model="numpy", forceinline=inlined
        )
        return cast("F", compile_(function))
    finally:
        settings.CACHE_DIR = before


def kernel(function: F) -> F:
    """Compile `function`, release the GIL while it runs, and keep the result on disk."""
    return _compiled(function, inlined=False)


def inlined(function: F) -> F:
    """Compile a small function that hot loops call: its body is put in place of every call.

    Passing arrays costs more than what these functions do. Larger ones stay `kernel`, since a body
    put in many places takes long to compile.
    """
    return _compiled(function, inlined=True)
