"""Processor time of the HTTP layer: to answer a request, and to refuse one when there are too many.

    python -m benchmarks.http_layer [--requests 3000] [--turns 5]

Requests are given to a connection without a socket, and the application answers at once, so that
neither the system's calls nor the engine are in it. Of all turns the best counts.
"""

import argparse
import asyncio
import time
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from lexbandit.service.http.server import Admission, Connection, Reply, Request, Shared, Timeouts

# A request is answered within so many turns of the event loop, or never.
_PATIENCE = 1000

BODY = b'{"context": {"tokens": 4321, "task": "code"}}'
REQUEST = (
    b"POST /v1/router/decisions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(BODY), BODY)
)


class Nowhere(asyncio.Transport):
    """Sends nothing."""

    def write(self, data: Any) -> None:
        """Do nothing."""

    def pause_reading(self) -> None:
        """Do nothing: what is received is handed over by hand."""

    def resume_reading(self) -> None:
        """Do nothing, likewise."""

    def get_write_buffer_size(self) -> int:
        """Return that nothing waits to be sent."""
        return 0

    def is_closing(self) -> bool:
        """Return that it is open."""
        return False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return nothing."""
        return default


async def answer(request: Request) -> Reply:
    """Answer as if a decision had been made."""
    return Reply(200, await request.body(10_000))


async def measured(limit: float, requests: int, turns: int) -> float:
    """Return the seconds of processor time a request takes where so many may be in flight."""
    admission = Admission(10.0, lambda _status: None, limit=limit)
    config = uvicorn.Config(answer, lifespan="off", log_config=None, proxy_headers=False)
    config.load()
    made = {"config": config, "server_state": ServerState(), "app_state": {}}
    loop = asyncio.get_running_loop()
    connection = Connection(Shared(admission, 10, Timeouts()), **made, _loop=loop)
    connection.connection_made(Nowhere())
    best = float("inf")
    for _ in range(turns):
        began = time.thread_time()
        for _ in range(requests):
            connection.data_received(REQUEST)
            for _ in range(_PATIENCE):
                if not connection.in_flight:
                    break
                await asyncio.sleep(0)
            else:
                raise RuntimeError("a request was not answered.")
        best = min(best, (time.thread_time() - began) / requests)
    return best


async def main() -> None:
    """Measure both."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    asked.add_argument("--requests", type=int, default=3000)
    asked.add_argument("--turns", type=int, default=5)
    given = asked.parse_args()
    answered = await measured(256.0, given.requests, given.turns)
    refused = await measured(0.0, given.requests, given.turns)
    print(f"answered {1e6 * answered:.1f} µs, refused {1e6 * refused:.1f} µs a request")
    print(f"a refusal takes {refused / answered:.2f} of an answer (at most 0.25)")


if __name__ == "__main__":
    asyncio.run(main())
