"""Draws explained.svg of quick-start.md: what `explain` of that page shows as a picture.

It runs the page's own blocks up to that place. Run it: python docs/pictures/explained.py
"""

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "quick-start.md"
CALL = re.compile(r"^print\((\w+\.explain\(.*\))\)$", re.MULTILINE)


def picture() -> str:
    """Return the picture of the page's first explanation."""
    space: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S):
        call = CALL.search(block)
        if call:
            return str(eval(call[1], space).svg())
        with contextlib.redirect_stdout(io.StringIO()):
            exec(block, space)
    raise SystemExit(f"{PAGE.name} explains nothing any more")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "explained.svg"
    target.write_text(picture() + "\n", "utf-8")
