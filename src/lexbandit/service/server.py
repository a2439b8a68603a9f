"""The process: it opens the storage, serves, and on SIGTERM answers what is under way and ends."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from lexbandit.errors import InvalidInput
from lexbandit.service.app import App, Limits
from lexbandit.service.auth import Keys
from lexbandit.service.bounded_heads import BoundedHeads
from lexbandit.service.config import Config
from lexbandit.service.dashboard.pages import routes
from lexbandit.service.doors import Door, is_loopback
from lexbandit.service.engine import Engine
from lexbandit.service.plain_logs import set_up_logging
from lexbandit.service.sessions import Sessions
from lexbandit.service.site import Site
from lexbandit.service.storage import Storage, make_storage
from lexbandit.service.warming import warm_up

log = logging.getLogger("lexbandit.service")

# So long a request that is under way may take once the process was told to end.
_LAST_SECONDS = 30
# The thread that writes waits at most about so long for the event loop to let it go on, in seconds;
# Python's own 5 ms would be most of the time of a commit under load.
_TURN = 0.0005


def check_door(config: Config, *, no_auth: bool) -> None:
    """Refuse to serve without keys, unless that was asked for and nobody else can come in."""
    if no_auth and not is_loopback(config.host):
        raise InvalidInput(
            f"--no-auth is for this machine only, and host is {config.host!r}: use 127.0.0.1, or "
            "make API keys with `lexbandit key`."
        )
    if not no_auth and not config.keys:
        raise InvalidInput(
            "there are no API keys. Make one with `lexbandit key NAME --role ROLE --to keys.toml` "
            'and set keys = "keys.toml"; or serve this machine only with --no-auth.'
        )


def make_app(engine: Engine, config: Config, *, no_auth: bool) -> App:
    """Return the application that serves an engine."""
    keys = None if no_auth else Keys(config.keys)
    sessions = None if keys is None else Sessions(keys, config.session_secret)
    door = Door(keys, sessions, config.rate)
    secure = config.tls_cert is not None or bool(config.proxies)
    site = Site(door, routes(engine), engine.points, secure=secure)
    return App(engine, door, Limits(body=config.max_body_bytes), site)


class _Server(uvicorn.Server):
    """uvicorn, which ends with status 0 when it was told to end and has done so."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGTERM and SIGINT as the wish to end; uvicorn would raise them once more then."""
        wishes = (signal.SIGTERM, signal.SIGINT)
        known = {wish: signal.signal(wish, self.handle_exit) for wish in wishes}
        try:
            yield
        finally:
            for wish, handler in known.items():
                signal.signal(wish, handler)


def bound(config: Config) -> socket.socket:
    """Return a socket that has the port; it answers nobody yet."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((config.host, config.port))
    except OSError as error:
        made.close()
        raise InvalidInput(
            f"{config.host}:{config.port} cannot be served: {error.strerror or error}. "
            "Choose another with --port."
        ) from None
    return made


def address_of(config: Config, served: socket.socket) -> str:
    """Return the URL of the service."""
    host = f"[{config.host}]" if ":" in config.host else config.host
    scheme = "http" if config.tls_cert is None else "https"
    return f"{scheme}://{host}:{served.getsockname()[1]}"


async def serve(
    config: Config,
    *,
    no_auth: bool,
    started: Callable[[str, Engine], Any],
    storage: Storage | None = None,
    skip_untaken: bool = False,
) -> None:
    """Serve until the process is told to end; `started` hears the URL when all is ready.

    `storage` is one that the configuration does not know; `skip_untaken` is for `Engine.start`.
    """
    check_door(config, no_auth=no_auth)
    served = bound(config)
    try:
        engine = await Engine.start(
            config.points,
            storage or make_storage(config.storage),
            snapshot_every=config.snapshot_every,
            poll=config.poll,
            skip_untaken=skip_untaken,
        )
    except BaseException:
        served.close()
        raise
    try:
        for definition in config.points.values():
            warm_up(definition)
        server = _Server(_uvicorn(make_app(engine, config, no_auth=no_auth), config))
        task = asyncio.create_task(server.serve([served]))
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        if server.started:
            started(address_of(config, served), engine)
        await task
    finally:
        log.info("ending: last snapshots are written")
        await engine.stop()


def _uvicorn(app: App, config: Config) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=BoundedHeads,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=bool(config.proxies),
        forwarded_allow_ips=config.proxies or None,
        ssl_certfile=config.tls_cert,
        ssl_keyfile=config.tls_key,
        timeout_graceful_shutdown=_LAST_SECONDS,
    )


def run(
    config: Config,
    *,
    no_auth: bool,
    started: Callable[[str, Engine], Any],
    storage: Storage | None = None,
    skip_untaken: bool = False,
) -> None:
    """Serve in an event loop of its own, as `serve` does."""
    set_up_logging(config.log_level)
    sys.setswitchinterval(_TURN)
    # Kept decisions are many and live long: looking through them all for garbage costs time.
    gc.freeze()
    gc.set_threshold(50_000, 50, 20)
    try:
        import uvloop  # noqa: PLC0415 - not there on Windows

        factory: Callable[[], asyncio.AbstractEventLoop] | None = uvloop.new_event_loop
    except ImportError:
        factory = None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(
            serve(
                config,
                no_auth=no_auth,
                started=started,
                storage=storage,
                skip_untaken=skip_untaken,
            )
        )
