"""Who connects is answered; at the end, what is under way is still answered."""

import asyncio
import logging
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from socket import socket

from lexbandit.errors import counted
from lexbandit.service.connections import Answer, Connection, Listener

log = logging.getLogger("lexbandit.service")

# So many may wait to be accepted.
_BACKLOG = 2048
# A caller who was answered has so long to end its side of the connection, in seconds.
_PARTING = 2.0
# A caller who speaks TLS has so long to begin, in seconds.
_HANDSHAKE = 10.0
# So many file descriptors are left for the storage and everything else.
_RESERVE = 64


def room_for_connections() -> int:
    """Return how many connections may be open at once: all that the storage needs stays free."""
    try:
        import resource  # noqa: PLC0415 - not there on Windows
    except ImportError:
        return sys.maxsize
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else max(limit - _RESERVE, 1)


@asynccontextmanager
async def listening(
    answer: Answer,
    served: socket,
    *,
    refused: Callable[[int], None],
    tls: ssl.SSLContext | None = None,
    patience: float = 30.0,
    most: int | None = None,
) -> AsyncIterator[None]:
    """Answer who connects; at the end, what is under way may take `patience` seconds more.

    `most` connections are open at once, by default as many as there are file descriptors for; who
    comes then is sent away, so that the others can still be answered. `refused` hears the status
    with which something was refused that is no request. It is an OSError if another process listens
    on the port.
    """
    listener = Listener(answer, refused, most or room_for_connections())
    served.listen(_BACKLOG)  # here and not by the event loop: not every one says if it cannot
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(listener),
        sock=served,
        ssl=tls,
        backlog=_BACKLOG,
        ssl_handshake_timeout=_HANDSHAKE if tls else None,
    )
    try:
        yield
    finally:
        server.close()
        await _ended(listener, patience)


async def _ended(listener: Listener, patience: float) -> None:
    """Let connections end: those with a request under way, then the others."""
    listener.ending = True
    for one in [*listener.connections]:
        one.finish()
    await _until(lambda: not any(one.busy for one in listener.connections), patience)
    busy = sum(one.busy for one in listener.connections)
    if busy:
        log.warning("%s under way given up", counted(busy, "request"))
    else:
        await _until(lambda: not listener.connections, _PARTING)
    for one in [*listener.connections]:
        one.abort()
    await asyncio.sleep(0.01)  # what was given up comes to its end


async def _until(true: Callable[[], bool], seconds: float) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not true() and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.01)
