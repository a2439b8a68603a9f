"""The decorators of kernels, and the folder that caches compiled ones.

numba decides whether a cached kernel is fresh by the file it stands in, and does not notice that
a kernel it calls was edited in another file. So the cache folder is named by a hash of all kernel
sources: edit any of them and all are compiled anew. numba also caches by the place of a file. Here
it is its contents, so another virtual environment, or another copy of the same sources, finds what
the first one compiled.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from lexbandit._internal.caches import cache_root
from lexbandit.kernels.flatten import flatten

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
_PARTS: set[FunctionType] = set()


class _BySource(_CacheLocator):
    """Where numba caches a function: by the name and the contents of its module."""

    def __init__(self, function: FunctionType, source: str) -> None:
        self._line = function.__code__.co_firstlineno
        self._digest = hashlib.sha256(Path(source).read_bytes()).hexdigest()
        self._folder = f"{_FOLDER}/{function.__module__}-{self._digest[:12]}"

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> "_BySource":
        """Return the place of a function that stands in a file."""
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return self._folder

    def get_source_stamp(self) -> str:
        """Return what changes with the source."""
        return self._digest

    def get_disambiguator(self) -> str:
        """Return what tells functions of the same name in a module apart."""
        return str(self._line)


class _KernelFiles(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_BySource]  # noqa: RUF012  # as numba declares it


class _KernelCache(FunctionCache):
    _impl_class = _KernelFiles


def _compiled(function: F, **options: bool) -> F:
    njit: Any = numba.njit  # `_nrt` is not in its types
    compiled: Any = njit(nogil=True, error_model="numpy", **options)(function)
    stands_in_file = Path(cast("FunctionType", function).__code__.co_filename).is_file()
    if compiled is not function and _FOLDER is not None and stands_in_file:
        cache: Any = _KernelCache
        compiled._cache = cache(function)  # what `cache=True` does, with another place
    return cast("F", _flattened(compiled))


def _flattened(dispatcher: Any) -> Any:
    """Let numba compile the function with the bodies of its parts; nothing is done before that.

    Without the compiler there is no dispatcher but the function itself.
    """
    if hasattr(dispatcher, "_compiler"):
        function = dispatcher.py_func
        dispatcher._compiler._get_implementation = lambda _args, _kws: flatten(function, _PARTS)
    return dispatcher


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


def once(function: F) -> F:
    """Let kernels have the body of `function` in place of the statements that call it.

    For the parts of a large kernel, which may make arrays. See `flatten` for what they may be. They
    are compiled by themselves only for tests.
    """
    compiled = _flattened(numba.njit(nogil=True, error_model="numpy")(function))
    _PARTS.add(getattr(compiled, "py_func", compiled))
    return cast("F", compiled)


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
