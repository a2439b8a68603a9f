"""The cache folder of lexbandit."""

import os
from pathlib import Path


def cache_root() -> Path:
    """Return the folder `lexbandit` in the user's cache directory; it may not exist yet.

    For a user without a home it is a path that cannot be created: caches are optional.
    """
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # Without a home "~" stays as it is: it would name a folder of the working directory.
    if caches.startswith("~"):
        caches = os.devnull
    return Path(caches) / "lexbandit"
