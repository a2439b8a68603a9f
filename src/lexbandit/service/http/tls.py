"""TLS that answers plain http with a sentence."""

import ssl
from typing import Any, cast

from lexbandit.service.http.server import CLOSE, SAFE, Reply, to_bytes


class TlsContext(ssl.SSLContext):
    """TLS of a server that answers plain http with a sentence, instead of closing at once."""

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **settings: Any
    ) -> ssl.SSLObject:
        """Return the TLS of one connection."""
        made: Any = super().wrap_bio(incoming, outgoing, *args, **settings)
        made.outgoing = outgoing
        return cast("ssl.SSLObject", made)


class _Tls(ssl.SSLObject):
    outgoing: ssl.MemoryBIO
    _hinted = False

    def do_handshake(self) -> None:
        """Begin; what is no TLS at all gets a reply, and no further chance."""
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            if error.reason not in _NO_TLS or self._hinted:
                raise
            self._hinted = True
            self.outgoing.write(_USE_HTTPS)
            raise ssl.SSLWantReadError from None  # so that it is sent; the caller closes


TlsContext.sslobject_class = _Tls
# What OpenSSL calls a caller that speaks http, or anything else that is not TLS.
_NO_TLS = ("HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER")
_USE_HTTPS = to_bytes(
    Reply(
        400,
        b"This port speaks https: use an address that begins with https:// instead of http://\n",
        b"text/plain; charset=utf-8",
        (*SAFE, CLOSE),
    )
)
