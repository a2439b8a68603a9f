"""The certificate and key of TLS are tried before anything is opened."""

import ssl
from pathlib import Path

from lexbandit.errors import InvalidInput


def check_certificate(cert: Path | None, key: Path | None) -> None:
    """Refuse a certificate and a key that cannot be served with."""
    if cert is None or key is None:
        return

    def password() -> str:
        raise InvalidInput(
            f"the key in {key} has a password, and nobody is there to type it: write it without "
            f"one, as `openssl pkey -in {key} -out FILE` does, readable by the service only."
        )

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password)
    except ssl.SSLError as error:
        raise InvalidInput(
            f"https cannot be served with {cert} and {key}: {error.strerror or error}. The first "
            "must be a certificate chain, its own certificate first, and the second the private "
            "key of that certificate, both as PEM."
        ) from None
    except OSError as error:
        raise InvalidInput(f"{cert} or {key} cannot be read: {error.strerror}.") from None
