"""Log that kernels are being compiled, once: the program is silent for a while then."""

import functools
import logging
from typing import Any

from numba.core import event as numba_event

from lexbandit.kernels import jit

log = logging.getLogger("lexbandit.compile")


class _Compiling(numba_event.Listener):
    """Is called for every function that is compiled, not for one that is read from the cache."""

    def __init__(self) -> None:
        self.announced = False

    def on_start(self, event: Any) -> None:
        """Log the first kernel; functions of the program's own do not count."""
        module = event.data["dispatcher"].py_func.__module__  # None of what `exec` made
        kernel = module is not None and module.startswith(jit.__package__)
        if self.announced or not kernel:
            return
        self.announced = True
        if jit._FOLDER is None:
            log.warning(
                "compiling, for up to a minute; there is no folder to keep it in, so every start "
                "compiles anew: set XDG_CACHE_HOME to one that can be written"
            )
        else:
            log.info("compiling, for up to a minute; it is kept in %s", jit._FOLDER)

    def on_end(self, event: Any) -> None:
        """Do nothing when a compilation ends."""


@functools.cache
def tell_of_compiling() -> None:
    """Log once when a kernel is compiled, from now on."""
    register: Any = numba_event.register  # it has no types
    register("numba:compile", _Compiling())
