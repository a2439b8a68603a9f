"""Vega, Vega-Lite and Vega-Embed as one script from the installed package: no network is needed."""

import functools
import gzip
import hashlib
from typing import NamedTuple

import vl_convert


class Script(NamedTuple):
    """A script, the same compressed, and a name that changes when it does."""

    name: str
    plain: bytes
    compressed: bytes


@functools.cache
def vega() -> Script:
    """Return the script; it sets window.vegaEmbed."""
    # The type stub asks for a snippet; without one the bundle sets window.vegaEmbed.
    plain = str(vl_convert.javascript_bundle()).encode()  # type: ignore[call-arg]
    name = f"vega-{hashlib.sha256(plain).hexdigest()[:16]}.js"
    return Script(name, plain, gzip.compress(plain, 6, mtime=0))
