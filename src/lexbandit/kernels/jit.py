"""The decorators of kernels, and the folder that caches compiled ones.

numba decides whether a cached kernel is fresh by the file it stands in, and does not notice that
a kernel it calls was edited in another file. So the cache folder is named by a hash of all kernel
sources: edit any of them and all are compiled anew. numba also caches by the place of a file. Here
it is its contents, so another virtual environment, or another copy of the same sources, finds what
the first one compiled.
"""

import functools
import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime.nrt import rtsys
from numba.core.types import Array, Boolean, Number, unliteral

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


@functools.cache
def _contents(file: str) -> bytes | None:
    """Return what stands in a file, None if it is none; it is read once for all its functions."""
    return Path(file).read_bytes() if Path(file).is_file() else None


_FOLDER = _cache_folder()
_PARTS: set[FunctionType] = set()


class _BySource(_CacheLocator):
    """Where numba caches a function: by the name and the contents of its module."""

    def __init__(self, function: FunctionType, source: str) -> None:
        self._line = function.__code__.co_firstlineno
        self._digest = hashlib.sha256(_contents(source) or b"").hexdigest()
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

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a kernel from the cache, without all that numba can compile.

        numba reads that first, a third of a second with SciPy's BLAS, though a kernel that is
        compiled already needs its memory management only. The compiler reads it where it is needed.
        """
        rtsys.initialize(target_context)
        found = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is None and getattr(_TRYING, "cache", False):
            raise _NotCached
        return found


class _KernelCompiler(Compiler):
    """Compiles kernels so that Python calls them without counting references to their arrays.

    To count, numba makes an object for each array of a call: half of the time of a call with many.
    The caller holds the arrays until the kernel ends, so only a kernel that returns an array, which
    may be part of one it was given, has to count.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)  # type: ignore[no-untyped-call]
        context = self.state.targetctx
        counting = context.create_cpython_wrapper
        without = context.subtarget(enable_nrt=False).create_cpython_wrapper

        def create_wrapper(library: Any, function: Any, *more: Any, **options: Any) -> None:
            returned = context.data_model_manager[function.restype]
            counted = returned.contains_nrt_meminfo() or not all(map(_is_plain, function.argtypes))
            (counting if counted else without)(library, function, *more, **options)

        context.create_cpython_wrapper = create_wrapper


def _is_plain(kind: Any) -> bool:
    """Tell whether a type is that of a number, an array, or a tuple of them."""
    parts = getattr(kind, "types", (kind,))
    return all(isinstance(part, Array | Number | Boolean) for part in parts)


def _compiled(function: F, **options: Any) -> F:
    njit: Any = numba.njit  # `_nrt` is not in its types
    compiled: Any = njit(
        nogil=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        pipeline_class=_KernelCompiler,
        **options,
    )(function)
    source = cast("FunctionType", function).__code__.co_filename
    if compiled is not function and _FOLDER is not None and _contents(source) is not None:
        cache: Any = _KernelCache
        compiled._cache = cache(function)  # what `cache=True` does, with another place
    return cast("F", _flattened(compiled))


class _NotCached(Exception):
    """A deferred kernel was called that is not in the cache."""


# Seconds for which Python itself runs deferred kernels before they are compiled: that takes longer.
# A server, which must not stop later, has none.
PATIENCE = SimpleNamespace(left=1.0)
_TRYING = threading.local()


def deferred(**most: int) -> Callable[[F], F]:
    """Compile a kernel, and let Python itself run it at first: a few decisions need not wait.

    It does so if the kernel is not in the cache, in calls in which these arrays have at most so
    many entries, until such calls took a second in all. The answers are the same, bit by bit.
    """

    def decorate(function: F) -> F:
        plain = cast("FunctionType", getattr(function, "py_func", function))
        compiled: Any = kernel(plain)
        if compiled is not plain:  # else the compiler is switched off
            names = plain.__code__.co_varnames
            _defer(compiled, [(names.index(name), most[name]) for name in most])
        return cast("F", compiled)

    return decorate


class Direct:
    """A kernel that Python calls often, always with arguments of the same types.

    numba looks up the types of the arguments in every call: half of the time of a call with a dozen
    arrays. `call` skips that once the kernel is compiled. Nothing compares the types from then on,
    so the caller has to make sure of them: arrays of one dtype, contiguous in C order.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.kernel: Any = function
        self.call = self._first if hasattr(function, "overloads") else function

    def _first(self, *args: Any) -> Any:
        """Call the kernel as numba does; later calls go to what was compiled for this one."""
        answer = self.kernel(*args)
        for compiled in self.kernel.overloads.values():  # none while Python runs it
            self.call = compiled.entry_point
        return answer


def _defer(dispatcher: Any, most: list[tuple[int, int]]) -> None:
    """Have Python run calls that a dispatcher would have to compile for.

    The dispatcher asks only while it has nothing compiled: other calls take no time for this.
    """
    compile_for, is_missing = dispatcher._compile_for_args, _FOLDER is None
    plain = functools.cache(lambda: _as_python(dispatcher.py_func, {}))

    def by_python(*args: Any) -> Any:
        begun = time.perf_counter()
        with np.errstate(all="ignore"):
            answer = plain()(*args)
        PATIENCE.left -= time.perf_counter() - begun
        return answer

    def found_for(*args: Any) -> Any:
        nonlocal is_missing
        is_small = all(args[place].size <= limit for place, limit in most)
        may_wait = is_small and PATIENCE.left > 0.0 and not dispatcher.overloads
        if may_wait and is_missing:
            return by_python
        _TRYING.cache = may_wait
        try:
            return compile_for(*args)
        except _NotCached:
            is_missing = True
            return by_python
        finally:
            _TRYING.cache = False

    dispatcher._compile_for_args = found_for


def _as_python(function: FunctionType, made: dict[FunctionType, FunctionType]) -> FunctionType:
    """Return a function that calls no compiled ones: those are run by Python too."""
    if function not in made:
        names = dict(function.__globals__)
        made[function] = FunctionType(function.__code__, names, function.__name__)
        made[function].__defaults__ = function.__defaults__
        used = function.__code__.co_names
        for name in used:
            found = names.get(name)
            if isinstance(found, ModuleType) and found.__name__.startswith(__package__):
                inside = {key: _for_python(getattr(found, key, None), made) for key in used}
                names[name] = SimpleNamespace(**{**vars(found), **inside})
            elif name in names:
                names[name] = _for_python(found, made)
    return made[function]


def _for_python(found: Any, made: dict[FunctionType, FunctionType]) -> Any:
    plain = getattr(found, "py_func", None)
    return found if plain is None else _as_python(plain, made)


class _PartLibrary(JITCodeLibrary):
    """The code of a function that kernels contain: it is optimised there, and never runs alone."""

    def finalize(self) -> None:
        """Bring the code together; no machine code is made of it."""
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return that there is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """What makes machine code: nothing, so it has no environment to set either."""
        return _NoCode()


class _NoCode:
    def set_env(self, name: str, environment: object) -> None:
        pass


class _PartCompiler(Compiler):
    """Compiles functions that kernels contain."""

    def __init__(
        self, typing: Any, target: Any, _library: Any, args: Any, returns: Any, *more: Any
    ) -> None:
        library = _PartLibrary(target.codegen(), "part")  # type: ignore[no-untyped-call]
        super().__init__(typing, target, library, args, returns, *more)  # type: ignore[no-untyped-call]


def _part(function: F, **options: Any) -> F:
    """Compile a function for kernels: without machine code, and what Python needs to call it.

    If Python calls it, as tests do, it is compiled once more, as a kernel is.
    """
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    njit: Any = numba.njit
    compiled = njit(
        nogil=True, error_model="numpy", pipeline_class=_PartCompiler, **wrappers, **options
    )(function)
    if compiled is not function:
        alone: Any = functools.cache(lambda: _compiled(function, **options))

        def for_python(*args: Any) -> Any:
            entry = alone()._compile_for_args(*args)
            for types, made in alone().overloads.items():  # which further calls find by themselves
                compiled._insert([one._code for one in types], made.entry_point, False)
            return entry

        compiled._compile_for_args = for_python
        found = compiled.overloads
        compiled.add_overload = lambda made: found.update({tuple(made.signature.args): made})
    return cast("F", _flattened(compiled))


def _flattened(dispatcher: Any) -> Any:
    """Let numba compile the function with the bodies of its parts; nothing is done before that.

    For a number that stands in a call it is not compiled once more: it is a number as any other.
    Without the compiler there is no dispatcher but the function itself.
    """
    if hasattr(dispatcher, "_compiler"):
        function, template = dispatcher.py_func, dispatcher.get_call_template
        dispatcher._compiler._get_implementation = lambda _args, _kws: flatten(function, _PARTS)
        dispatcher.get_call_template = lambda args, kws: template(
            tuple(map(unliteral, args)),
            {name: unliteral(one) for name, one in kws.items()},
        )
    return dispatcher


def kernel(function: F) -> F:
    """Compile `function`, release the GIL while it runs, and cache the result on disk."""
    return _compiled(function, _nrt=True)


def inlined(function: F) -> F:
    """Compile a small function that hot loops call: its body is put in place of every call.

    Passing arrays costs more than what these functions do. Larger ones stay `kernel`, since a body
    put into many callers takes long to compile.
    """
    return _part(function, forceinline=True, _nrt=True)


def leaf(function: F) -> F:
    """Compile a function as `inlined` does, without counting references to its arrays.

    Counting takes two atomic operations for each array argument, more than what a rule does in a
    round. It must neither make an array nor return one, and take no slices.
    """
    return _part(function, forceinline=True, _nrt=False)


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
        digest.update(_contents(bound.__code__.co_filename) or bound.__code__.co_code)
    plain = cast("FunctionType", getattr(template, "py_func", template))
    names = {**plain.__globals__, **functions}
    title = f"{plain.__name__}_{digest.hexdigest()[:12]}"
    copy = FunctionType(plain.__code__, names, title, plain.__defaults__)
    copy.__qualname__, copy.__doc__, copy.__module__ = title, plain.__doc__, plain.__module__
    return compile_by(cast("F", copy))
