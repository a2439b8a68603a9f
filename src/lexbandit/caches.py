"""Where lexbandit keeps what it can make again, for the next process."""

import os
from pathlib import Path


def cache_root() -> Path:
    """Return the folder, which need not be there: `lexbandit` where this user's caches are."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(caches) / "lexbandit"
