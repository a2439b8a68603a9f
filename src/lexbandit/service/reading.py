"""Requests out of the bytes that come on a connection: llhttp reads them, by httptools."""

from collections.abc import Callable

import httptools

from lexbandit.service.messages import HttpRequest
from lexbandit.service.problems import HEAD, MALFORMED, Problem

LARGEST_HEAD = 65_536
# Whoever says one of these twice means two things; which one counts must not be a matter of taste.
_ONCE = (b"authorization", b"content-type", b"host")
_VERSIONS = ("1.0", "1.1")


class Reader:
    """Reads requests; `begun` is called with each whose line and headers are complete.

    current   the request whose body is being read
    unread    how many bytes came since something was complete: a head, a part of a body, a request.
              So a head is bounded, and what follows a body in chunks (trailers) is too
    ended     nothing more is taken in
    refusal   why, if what came cannot be read
    """

    def __init__(self, begun: Callable[[HttpRequest], None], want: Callable[[], None]) -> None:
        """`want` is called when the body of a request is awaited."""
        self.current: HttpRequest | None = None
        self.unread = 0
        self.ended = False
        self.refusal: Problem | None = None
        self._begun, self._want = begun, want
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._wrong: str | None = None

    def feed(self, data: bytes) -> None:
        """Take in what came."""
        while data and not self.ended:
            room = LARGEST_HEAD - self.unread
            part, data = (data, b"") if len(data) <= room else (data[:room], data[room:])
            self.unread += len(part)
            self._parse(part)
            if data and self.unread >= LARGEST_HEAD:  # nothing was complete in what was read
                told = f"a request's line and headers may have {LARGEST_HEAD:,} bytes together."
                self._refuse(Problem(HEAD, told))

    def stop(self) -> None:
        """Take in nothing after the request that is being read."""
        if self.current is None:
            self.ended = True
        else:
            self.current.keep_alive = False

    def drop(self) -> None:
        """Take in nothing more; a request that is not whole never will be."""
        self.ended = True
        request, self.current = self.current, None
        if request is not None:
            request.drop()

    def _refuse(self, problem: Problem) -> None:
        if not self.ended:
            self.refusal = problem
            self.drop()

    def _parse(self, data: bytes) -> None:
        try:
            while data:
                try:
                    self._parser.feed_data(data)
                    return
                except httptools.HttpParserUpgrade as upgrade:
                    data = self._plain(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._refuse(Problem(MALFORMED, f"this is not HTTP/1.1: {error}."))

    def _plain(self, rest: bytes) -> bytes:
        """Return a request as if it had not asked for another protocol, and what follows it."""
        parser = self._parser
        method, version = parser.get_method(), parser.get_http_version().encode()
        if self._wrong is None and method == b"CONNECT":
            self._wrong = "this is no proxy: CONNECT is not for it."
        if self._wrong is not None:
            self._refuse(Problem(MALFORMED, self._wrong))
            return b""
        headers = {**self._headers}
        headers.pop(b"upgrade")
        headers[b"connection"] = b"keep-alive" if parser.should_keep_alive() else b"close"
        lines = b"".join(b"%b: %b\r\n" % header for header in headers.items())
        self._parser = httptools.HttpRequestParser(self)
        return b"%b %b HTTP/%b\r\n%b\r\n%b" % (method, self._url, version, lines, rest)

    # --- what the parser calls -------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._url, self._headers, self._wrong = b"", {}, None

    def on_url(self, url: bytes) -> None:
        """Take in a part of the URL."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a header; one that comes again is added to the first, if that is possible."""
        name, value = name.lower(), value.rstrip()
        before = self._headers.get(name)
        if before is not None:
            if name in _ONCE:
                self._wrong = f"the header {name.decode()} stands there twice."
            value = before + (b"; " if name == b"cookie" else b", ") + value
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self.unread = 0
        parser = self._parser
        if self.ended or parser.should_upgrade():
            return
        version, headers = parser.get_http_version(), self._headers
        try:
            url = httptools.parse_url(self._url)
        except httptools.HttpParserInvalidURLError:
            self._refuse(Problem(MALFORMED, "its URL cannot be read."))
            return
        if url.host is not None:  # it counts before the header
            headers[b"host"] = url.host if url.port is None else b"%b:%d" % (url.host, url.port)
        if version not in _VERSIONS:
            self._wrong = f"HTTP/{version} is not spoken here; HTTP/1.1 is."
        elif version == "1.0":
            headers.pop(b"expect", None)  # who speaks it knows nothing of that
        elif b"host" not in headers:
            self._wrong = "the header Host is missing."
        if self._wrong is not None:
            self._refuse(Problem(MALFORMED, self._wrong))
            return
        self._headers = {}  # trailers are no headers of the request
        self.current = HttpRequest(
            parser.get_method().decode("ascii"),
            url.path or b"/",
            url.query or b"",
            headers,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            want=self._want,
        )
        self._begun(self.current)

    def on_body(self, part: bytes) -> None:
        """Take in a part of a body."""
        self.unread = 0
        if self.current is not None:
            self.current.add(part)

    def on_message_complete(self) -> None:
        """Be ready for the next request."""
        self.unread = 0
        request, self.current = self.current, None
        if request is not None:
            request.end()
            self.ended |= not request.keep_alive
