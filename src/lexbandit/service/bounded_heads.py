"""How a request's head is read: line, URL and headers, and never more of them than a bound."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lexbandit.service.problems import HEAD, MEDIA_TYPE, Problem

LARGEST_HEAD = 65_536

_REPLY = b"HTTP/1.1 %d \r\ncontent-type: %b\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's reading of HTTP, which by itself keeps whatever comes until a head is complete.

    `_unread` is how many bytes came since something was complete: a head, a part of a body, a
    request. So what follows a body in chunks (trailers) is bounded too.
    """

    _unread = 0

    def data_received(self, data: bytes) -> None:
        """Take in what came; too much without an end closes the connection."""
        room = LARGEST_HEAD - self._unread
        self._unread += len(data)
        if len(data) <= room:
            super().data_received(data)
            return
        super().data_received(data[:room])
        if self.transport.is_closing():
            return
        if self._unread > LARGEST_HEAD:  # nothing was complete in what was read
            self._refuse()
        else:
            self.data_received(data[room:])

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._unread = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take in a part of the body, which the application bounds."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Be ready for the next request."""
        self._unread = 0
        super().on_message_complete()

    def _refuse(self) -> None:
        """Close the connection; say why, unless another answer is under way on it."""
        if self.cycle is None or self.cycle.response_complete:
            told = f"a request's line and headers may have {LARGEST_HEAD:,} bytes together."
            problem = Problem(HEAD, told)
            body = problem.body()
            self.transport.write(_REPLY % (HEAD.status, MEDIA_TYPE, len(body), body))
        self.transport.close()
