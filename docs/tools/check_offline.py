"""Fails if a page of the built site would fetch anything: python docs/tools/check_offline.py site.

Links that a reader may click are fine. Scripts, styles, images, fonts and frames are not.
"""

import re
import sys
from pathlib import Path

# What a browser fetches by itself: src, srcset, poster, url(...), @import, and the href of a <link>
# unless it only names the page's own address.
FETCHED = re.compile(
    r"""(?:\b(?:src|srcset|poster|data)\s*=\s*["']?|url\(\s*["']?|@import\s+["'])"""
    r"""((?:https?:)?//[^"'\s>)]+)""",
    re.IGNORECASE,
)
LINK = re.compile(r"<link\b[^>]*>", re.IGNORECASE)
ADDRESS = re.compile(r"""href\s*=\s*["']?((?:https?:)?//[^"'\s>]+)""", re.IGNORECASE)


def fetched(text: str) -> list[str]:
    """Return the addresses outside the site that a page or a style would fetch."""
    found = FETCHED.findall(text)
    for link in LINK.findall(text):
        if "canonical" not in link:
            found += ADDRESS.findall(link)
    return found


def main(site: Path) -> int:
    """Print what would be fetched; return 1 if anything would."""
    pages = sorted(page for kind in ("html", "css", "svg") for page in site.rglob(f"*.{kind}"))
    if not pages:
        print(f"{site} holds no pages; build it first: make docs")
        return 1
    wrong = [(page, address) for page in pages for address in fetched(page.read_text("utf-8"))]
    for page, address in wrong:
        print(f"{page} would fetch {address}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
