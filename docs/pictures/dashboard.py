"""Takes dashboard.png of dashboard.md: the demo after a minute, in a headless Chromium.

Run it: python docs/pictures/dashboard.py
"""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

START = "import sys; from lexbandit.cli import main; main(sys.argv[1:])"
SIZE = {"width": 1100, "height": 1250}


def take(url: str, target: Path) -> None:
    """Write the picture of a dashboard whose charts are drawn."""
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=SIZE)
        page.goto(url)
        page.wait_for_selector("#map svg", timeout=60_000)
        time.sleep(60)
        page.screenshot(path=target)
        browser.close()


def main(target: Path) -> None:
    """Run a demo and take the picture."""
    command = [sys.executable, "-u", "-c", START, "demo", "--seconds", "180", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        found = next(filter(None, (re.search(r"http://\S+", line) for line in demo.stdout)))
        take(found[0], target)
        demo.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".png"))
