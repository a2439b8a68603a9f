"""Vega, Vega-Lite and Vega-Embed as one script from the installed package: no network is needed."""

import asyncio
import contextlib
import gzip
import logging
import subprocess
import sys
import threading
import zlib
from concurrent.futures import Future
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from lexbandit._internal.caches import cache_root
from lexbandit._internal.files import written_whole

log = logging.getLogger("lexbandit.charts")

# vl-convert needs seconds to put the script together and lets nothing else of its process run
# meanwhile; so another process does it, which gives way to everybody. The script sets
# window.vegaEmbed.
_PROGRAM = (
    "import os, sys; os.nice(10); import vl_convert; "
    "sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
)
_PATIENCE = 300.0

NAME = f"vega-{version('vl-convert-python')}.js"
"""The script's name: a browser keeps it for as long as the package has the same version."""


class Script(NamedTuple):
    """The script, as it is and compressed."""

    plain: bytes
    compressed: bytes


class Bundle:
    """Makes the script once; callers that ask meanwhile wait for the same one."""

    def __init__(self) -> None:
        self._made: Future[Script] | None = None

    def begin(self) -> Future[Script]:
        """Begin to make the script, so that the first viewer need not wait for it."""
        failed = self._made is not None and self._made.done() and self._made.exception() is not None
        if self._made is None or failed:
            self._made = Future()
            # Running, so that a viewer who leaves does not cancel it for the others.
            self._made.set_running_or_notify_cancel()
            threading.Thread(target=_make, args=(self._made,), daemon=True).start()
        return self._made

    async def script(self) -> Script:
        """Return the script."""
        return await asyncio.wrap_future(self.begin())


BUNDLE = Bundle()
"""The script of this process."""


def _make(made: Future[Script]) -> None:
    try:
        made.set_result(_script())
    except Exception as error:
        log.warning("charts cannot be drawn: %s", error)
        made.set_exception(error)


def _script() -> Script:
    """Return the script that another process cached, or make it."""
    place = cache_root() / f"{NAME}.gz"
    with contextlib.suppress(OSError, EOFError, zlib.error):  # none there, or a damaged one
        compressed = place.read_bytes()
        if plain := gzip.decompress(compressed):
            return Script(plain, compressed)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], check=True, capture_output=True, timeout=_PATIENCE
    )
    script = Script(done.stdout, gzip.compress(done.stdout, 6, mtime=0))
    with contextlib.suppress(OSError):  # then the next process makes it again
        _keep(place, script.compressed)
    return script


def _keep(place: Path, content: bytes) -> None:
    """Write a file whole or not at all; nothing is left where the disk is full."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(place) as beside:
        beside.write_bytes(content)
