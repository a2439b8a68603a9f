"""The PostgreSQL of the tests itself: it does not outlive them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from service.process import killed_after
from service.real_postgres import running

STARTED = """
import sys, time
from service.process import killed_after
from service.real_postgres import running
print(running().data, flush=True)
time.sleep(60)
"""


def test_a_server_whose_tests_were_killed_ends() -> None:
    running()  # skips where there can be none
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", STARTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=paths) as tests:
        assert tests.stdout is not None
        with killed_after(120, tests):
            data = Path(tests.stdout.readline().strip())
        server = psutil.Process(int((data / "postmaster.pid").read_text().split()[0]))
        assert server.is_running()
        os.kill(tests.pid, signal.SIGKILL)
    server.wait(20)
    begin = time.monotonic()
    while data.parent.exists():
        assert time.monotonic() < begin + 20
        time.sleep(0.05)
