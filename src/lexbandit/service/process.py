"""The process of the service: what it serves, what it reads again on SIGHUP, and how it ends."""

import asyncio
import contextlib
import ctypes
import gc
import logging
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import fields
from typing import Any

from lexbandit._internal.vega_script import BUNDLE
from lexbandit.errors import InvalidInput, without_password
from lexbandit.service.config.file import Config
from lexbandit.service.dashboard.pages import Pages
from lexbandit.service.engine.engine import Engine
from lexbandit.service.engine.start import warm_up, warm_up_replay, without_garbage_collection
from lexbandit.service.http.access import Access, ApiKey, Keys, Sessions, is_loopback
from lexbandit.service.http.app import App
from lexbandit.service.http.server import Admission, serving
from lexbandit.service.http.tls import TlsContext
from lexbandit.service.logging import audit, set_up_logging
from lexbandit.service.storage import Storage, make_storage

log = logging.getLogger("lexbandit.service")

# These are taken from a configuration that is read again; all others need a start.
_TAKEN = ("keys", "tls_cert", "tls_key")


class Reloading:
    """Takes keys and certificates of a configuration that is read again.

    `keys` and `tls` are those in use, None if there are none; `read` reads the configuration. What
    cannot be read is refused as a whole, and all goes on as before.
    """

    def __init__(
        self,
        config: Config,
        read: Callable[[], Config],
        keys: Keys | None,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._config, self._read, self._keys, self._tls = config, read, keys, tls

    def __call__(self) -> None:
        """Read all again, and say what changed."""
        try:
            found = self._read()
            self._take(found)
        except (InvalidInput, OSError) as error:
            log.error("the configuration is not taken, all goes on as before: %s", error)
            audit("reload refused", "SIGHUP", why=str(error))
            return
        others = [
            field.name
            for field in fields(Config)
            if field.name not in _TAKEN
            and getattr(found, field.name) != getattr(self._config, field.name)
        ]
        if others:
            log.warning("changed, and taken at the next start only: %s", ", ".join(others))

    def _take(self, found: Config) -> None:
        if self._keys is not None and not found.keys:
            raise InvalidInput("there are no API keys any more.")
        if self._tls is not None:
            if found.tls_cert is None:
                raise InvalidInput("there is no certificate any more.")
            load_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), found)  # tried first
            load_certificate(self._tls, found)
            audit("certificate read", "SIGHUP", file=str(found.tls_cert))
        if self._keys is not None:
            before = self._keys.by_name
            self._keys.replace(found.keys)
            audit("keys read", "SIGHUP", **changes(before, self._keys.by_name))
        log.info("keys and certificates are read again")


def changes(before: dict[str, ApiKey], after: dict[str, ApiKey]) -> dict[str, list[str]]:
    """Return the names of the keys that were added, removed and changed."""
    return {
        "added": sorted(after.keys() - before.keys()),
        "removed": sorted(before.keys() - after.keys()),
        "changed": sorted(name for name in after if before.get(name, after[name]) != after[name]),
    }


def load_certificate(context: ssl.SSLContext, config: Config) -> None:
    """Let a context use the certificate of a configuration, from the next handshake on."""
    try:
        context.load_cert_chain(str(config.tls_cert), config.tls_key, password=lambda: "")
    except OSError as error:
        raise InvalidInput(
            f"tls_cert {str(config.tls_cert)!r} and tls_key {str(config.tls_key)!r} cannot be "
            f"used: {error}. They are PEM files, the key without a password."
        ) from None


# The thread that writes waits at most about so long for the event loop to let it go on, in seconds;
# Python's own 5 ms would be most of the time of a commit under load.
_TURN = 0.0005
# Memory is returned to the system when so many connections have ended.
_MANY_ENDED = 500


def check_access(config: Config, *, no_auth: bool) -> None:
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


def warning_of(config: Config) -> str | None:
    """Return what whoever starts the service should know: keys that others can read on the way."""
    plain = config.tls_cert is None and not config.behind_tls
    if not config.keys or not plain or is_loopback(config.host):
        return None
    return (
        f"API keys come to {config.host}:{config.port} in plain text, for all on the way to read: "
        "give --tls-cert and --tls-key. Behind a proxy that ends TLS it is fine: set "
        "behind_tls = true, and serve where nobody but the proxy can come."
    )


def make_app(engine: Engine, config: Config, *, no_auth: bool) -> App:
    """Return the application that serves an engine."""
    keys = None if no_auth else Keys(config.keys)
    sessions = None if keys is None else Sessions(keys, config.session_secret)
    access = Access(keys, sessions, config.rate)
    secure = config.tls_cert is not None or config.behind_tls
    return App(engine, access, config.max_body_bytes, Pages(engine, access, secure=secure))


def admission_to(app: App, deadline: float) -> Admission:
    """Return what admits requests to the application."""
    return Admission(
        deadline=deadline,
        refused=app.note_refused,
        reading=lambda: app.reading,
        storing=lambda: min(app.engine.journal.last_commits),
    )


def bound(config: Config) -> socket.socket:
    """Return a socket that has the port; it answers nobody yet."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((config.host, config.port))
    except OSError as error:
        made.close()
        raise _not_served(config, error) from None
    return made


def _not_served(config: Config, error: OSError) -> InvalidInput:
    return InvalidInput(
        f"{config.host}:{config.port} cannot be served: {error.strerror or error}. "
        "Choose another with --port."
    )


def tls_of(config: Config) -> ssl.SSLContext | None:
    """Return how TLS is spoken; None if it is not."""
    if config.tls_cert is None:
        return None
    context = TlsContext(ssl.PROTOCOL_TLS_SERVER)
    load_certificate(context, config)
    return context


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
    read: Callable[[], Config] | None = None,
    storage: Storage | None = None,
    skip_untaken: bool = False,
    accept_clock: bool = False,
) -> None:
    """Serve until a signal ends the process; call `started` with the URL when all is ready.

    `read` reads the configuration again, on SIGHUP: keys and certificates are taken from it.
    `storage` is one that the configuration does not know; `skip_untaken` and
    `accept_clock` are for `Engine.start`.
    """
    check_access(config, no_auth=no_auth)
    warning = warning_of(config)
    if warning is not None:
        log.warning("%s", warning)
    tls, served = tls_of(config), bound(config)
    try:
        with without_garbage_collection():
            engine = await Engine.start(
                config.points,
                storage or make_storage(config.storage),
                snapshot_every=config.snapshot_every,
                poll=config.poll,
                skip_untaken=skip_untaken,
                accept_clock=accept_clock,
                retain=config.retain,
                archive=config.archive,
            )
            gc.freeze()  # the decisions of the log live long
    except BaseException:
        served.close()
        raise
    try:
        for definition in config.points.values():
            warm_up(definition)
            if engine.storage.shared:
                warm_up_replay(definition)
        app = make_app(engine, config, no_auth=no_auth)
        await _answer_until_ended(app, config, served, tls, started, read)
    finally:
        log.info("ending: last snapshots are written")
        await engine.stop()


async def _answer_until_ended(
    app: App,
    config: Config,
    served: socket.socket,
    tls: ssl.SSLContext | None,
    started: Callable[[str, Engine], Any],
    read: Callable[[], Config] | None,
) -> None:
    """Answer requests until a signal comes, and then those that are under way."""
    ending, now = _signals()  # before the first answer: who was answered may send one
    async with AsyncExitStack() as ends:
        try:
            server = await ends.enter_async_context(
                serving(app, served, tls=tls, admission=admission_to(app, config.deadline))
            )
        except OSError as error:  # another process began to listen since
            raise _not_served(config, error) from None
        app.metrics.connections = lambda: len(server.server_state.connections)
        trimming = asyncio.create_task(give_back_memory(lambda: server.shared.ended))
        ends.callback(trimming.cancel)
        if config.otel:
            await ends.enter_async_context(_exporting(app))
        note_start(config)
        if read is not None:
            again = Reloading(config, read, app.access.keys, tls)
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, again)
        log.info("serving %s", address_of(config, served))
        started(address_of(config, served), app.engine)
        BUNDLE.begin()
        await ending.wait()
        app.engine.draining = True
        if not now.is_set():
            log.info("ending: not ready, and serving for %g s more", config.drain)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(now.wait(), config.drain)
        log.info("ending: requests that are under way are answered")


def _signals() -> tuple[asyncio.Event, asyncio.Event]:
    """Return the events that are set by signals: to end gracefully, and to end at once.

    SIGTERM is the first, and the second one if it comes again; SIGINT is both.
    """
    loop = asyncio.get_running_loop()
    ending, now = asyncio.Event(), asyncio.Event()

    def terminated() -> None:
        (now if ending.is_set() else ending).set()

    def interrupted() -> None:
        ending.set()
        now.set()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGTERM, terminated)
    loop.add_signal_handler(signal.SIGINT, interrupted)
    return ending, now


async def give_back_memory(ended: Callable[[], int], every: float = 5.0) -> None:
    """Return memory to the system when many connections have ended, forever.

    The C library keeps what is freed for later: a hundred megabytes after thousands of connections
    whose callers sent large heads. `ended` returns how many have ended since the start; how many
    are open would not tell of those that came and went between two looks.
    """
    before = 0
    while True:
        await asyncio.sleep(every)
        now = ended()
        if now - before >= _MANY_ENDED:
            before = now
            await asyncio.to_thread(trim_memory)  # some milliseconds, in which others are answered


def trim_memory() -> None:
    """Return free memory to the system, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _exporting(app: App) -> AbstractAsyncContextManager[None]:
    """Return what sends traces and metrics; OpenTelemetry is needed for nothing else."""
    try:
        from lexbandit.service.telemetry import exporting  # noqa: PLC0415
    except ImportError:
        raise InvalidInput("otel = true needs: pip install 'lexbandit[otel]'.") from None
    return exporting(app)


def note_start(config: Config) -> None:
    """Write into the audit log with which configuration the service starts; no secrets."""
    shown = ("storage", "host", "port", "tls_cert", "behind_tls", "rate", "max_body_bytes")
    settings = {name: str(getattr(config, name)) for name in shown}
    points = {name: definition.fingerprint for name, definition in config.points.items()}
    keys = sorted(key.name for key in config.keys)
    settings["storage"] = without_password(settings["storage"])
    audit("started", "operator", keys=keys, points=points, **settings)


# Kept decisions are many and live long, and nothing is answered while they are looked through for
# garbage. So few objects are at a time: 20,000 new ones, and 60,000 that have been there once.
# Others hardly ever are.
COLLECTIONS = 20_000, 2, 5_000


def run(serving: Coroutine[Any, Any, None], config: Config) -> None:
    """Run `serve` in an event loop of its own, in a process that does nothing else."""
    set_up_logging(config.log_level, config.log_format, config.audit_log)
    sys.setswitchinterval(_TURN)
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    try:
        import uvloop  # noqa: PLC0415 - not there on Windows

        factory: Callable[[], asyncio.AbstractEventLoop] | None = uvloop.new_event_loop
    except ImportError:
        factory = None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serving)
