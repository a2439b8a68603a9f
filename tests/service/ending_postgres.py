"""Ends a PostgreSQL of tests when those who started it are gone, however they went.

    python ending_postgres.py FOLDER

Its standard input is a pipe that only the starter holds: it ends with the starter.
"""

import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

import psutil


def main(folder: Path) -> None:
    sys.stdin.read()
    with suppress(FileNotFoundError, psutil.Error):  # there is none, or it has ended
        first = psutil.Process(int((folder / "data" / "postmaster.pid").read_text().split()[0]))
        if str(folder) in " ".join(first.cmdline()):
            os.kill(first.pid, signal.SIGQUIT)  # at once
            first.wait(10)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
