"""Vega, Vega-Lite and Vega-Embed as one script from the installed package: no network is needed."""

import asyncio
import gzip
import subprocess
import sys
from importlib.metadata import version
from typing import NamedTuple

# vl-convert needs seconds to put the script together and lets nothing else of its process run
# meanwhile; so another process does it. The script sets window.vegaEmbed.
_MAKE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
_PATIENCE = 120.0

NAME = f"vega-{version('vl-convert-python')}.js"
"""The script's name: a browser keeps it for as long as the package has the same version."""


class Script(NamedTuple):
    """The script, as it is and compressed."""

    plain: bytes
    compressed: bytes


class Bundle:
    """The script, made when it is first asked for."""

    def __init__(self) -> None:
        self._made: asyncio.Task[Script] | None = None

    async def script(self) -> Script:
        """Return the script; whoever asks while it is being made waits for the same one."""
        failed = self._made is not None and self._made.done() and self._made.exception() is not None
        if self._made is None or failed:
            self._made = asyncio.create_task(asyncio.to_thread(_made))
        return await asyncio.shield(self._made)


def _made() -> Script:
    done = subprocess.run(
        [sys.executable, "-c", _MAKE], check=True, capture_output=True, timeout=_PATIENCE
    )
    return Script(done.stdout, gzip.compress(done.stdout, 6, mtime=0))
