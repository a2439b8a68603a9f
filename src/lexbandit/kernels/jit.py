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
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def _cache_folder() -> Path | None:
    """Return the folder for compiled kernels, or None where nothing can be written."""
    digest = hashlib.sha256(f"{sys.version_info} {numba.__version__}".encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    root = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "lexbandit"
    )
    folder = Path(root) / f"kernels-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


_FOLDER = _cache_folder()


def kernel(function: F) -> F:
    """Compile `function`, release the GIL while it runs, and keep the result on disk."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_FOLDER or "")
    try:
        compiled: F = numba.njit(nogil=True, cache=_FOLDER is not None, error_model="numpy")(
            function
        )
    finally:
        numba.config.CACHE_DIR = before
    return compiled
