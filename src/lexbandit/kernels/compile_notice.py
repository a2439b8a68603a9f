"""A program that compiles is silent for half a minute or more: the log says why, once."""

import functools
import logging
from typing import Any

from numba.core import event as numba_event

from lexbandit.kernels import jit

log = logging.getLogger("lexbandit.compile")


class _Compiling(numba_event.Listener):
    """Hears of every function that is compiled; one that is read from the disk is not."""

    def __init__(self) -> None:
        self.told = False

    def on_start(self, event: Any) -> None:
        """Say it of the first kernel; a program may have functions of its own compiled as well."""
        kernel = event.data["dispatcher"].py_func.__module__.startswith(jit.__package__)
        if self.told or not kernel:
            return
        self.told = True
        if jit._FOLDER is None:
            log.warning(
                "compiling, for up to a minute; there is no folder to keep it in, so every start "
                "compiles anew: set XDG_CACHE_HOME to one that can be written"
            )
        else:
            log.info("compiling, for up to a minute; it is kept in %s", jit._FOLDER)

    def on_end(self, event: Any) -> None:
        """Nothing is said of the end."""


@functools.cache
def tell_of_compiling() -> None:
    """From now on, the log tells when kernels are compiled."""
    register: Any = numba_event.register  # it has no types
    register("numba:compile", _Compiling())
