"""Where lexbandit keeps what it can make again, for the next process."""

import os
from pathlib import Path


def cache_root() -> Path:
    """Return the folder, which need not be there: `lexbandit` where this user's caches are.

    For a user without a home it is one that cannot be made; what is kept there can be done without.
    """
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if caches.startswith("~"):  # else a folder called ~ would be made wherever one is
        caches = os.devnull
    return Path(caches) / "lexbandit"
