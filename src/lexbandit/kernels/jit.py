"""The decorators of kernels, and the folder that caches compiled ones.

numba decides whether a cached kernel is fresh by the file it stands in, and does not notice that
a kernel it calls was edited in another file. So the cache folder is named by a hash of all kernel
sources: edit any of them and all are compiled anew.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.extending import register_jitable

from lexbandit._internal.caches import cache_root

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


def _compiled(function: F, **options: bool) -> F:
    # numba reads the folder when it decorates; other users of numba keep theirs.
    settings: Any = numba.config
    source = cast("FunctionType", function).__code__.co_filename
    cached = _FOLDER is not None and Path(source).is_file()
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(_FOLDER or "")
    try:
        njit: Any = numba.njit  # `_nrt` is not in its types
        compile_: Any = njit(nogil=True, cache=cached, error_model="numpy", **options)
        return cast("F", compile_(function))
    finally:
        settings.CACHE_DIR = before


def kernel(function: F) -> F:
    """Compile `function`, release the GIL while it runs, and cache the result on disk."""
    return _compiled(function, _nrt=True)


def inlined(function: F) -> F:
    """Compile a small function that hot loops call: its body is put in place of every call.

    Passing arrays costs more than what these functions do. Larger ones stay `kernel`, since a body
    put in many places takes long to compile.
    """
    return _compiled(function, forceinline=True, _nrt=True)


def leaf(function: F) -> F:
    """Compile a function as `inlined` does, without counting references to its arrays.

    Counting takes two atomic operations for each array argument, more than what a rule does in a
    round. It must neither make an array nor return one, and take no slices.
    """
    return _compiled(function, forceinline=True, _nrt=False)


def part(function: F) -> F:
    """Let kernels call `function`: it is compiled with them, and from Python it runs uncompiled.

    For the functions that a large kernel is divided into. Code to call a small one from Python
    takes longer to compile than the function. References are not counted, as for `leaf`.
    """
    register: Any = register_jitable
    options = {"error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
    return cast("F", register(**options)(function))


def once(function: F) -> F:
    """Compile `function` as if its body stood in the kernel that calls it.

    For parts of a large kernel that are called in one place. numba compiles a function together
    with all that it calls, then its caller with all of that again: each level of calls takes as
    long as those below it. This one is no level, and it may make arrays.
    """
    return cast("F", numba.njit(nogil=True, error_model="numpy", inline="always")(function))


def bind(
    template: F, compile_by: Callable[[F], F] = kernel, **functions: Callable[..., object]
) -> F:
    """Compile a copy of `template` in which these global names are other functions.

    This is how one loop serves every rule: numba inlines the functions, and it caches the result on
    disk, which it does neither for closures nor for functions that are passed as arguments. The
    copy is named by the functions and by the sources of their files, so an edited rule is compiled
    anew.
    """
    digest = hashlib.sha256()
    for name, function in sorted(functions.items()):
        bound = cast("FunctionType", getattr(function, "py_func", function))
        digest.update(f"{name} {bound.__module__}.{bound.__qualname__}".encode())
        source = Path(bound.__code__.co_filename)
        digest.update(source.read_bytes() if source.is_file() else bound.__code__.co_code)
    plain = cast("FunctionType", template)
    names = {**plain.__globals__, **functions}
    title = f"{plain.__name__}_{digest.hexdigest()[:12]}"
    copy = FunctionType(plain.__code__, names, title, plain.__defaults__)
    copy.__qualname__, copy.__doc__, copy.__module__ = title, plain.__doc__, plain.__module__
    return compile_by(cast("F", copy))
