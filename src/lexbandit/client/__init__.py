"""The Python client of the decision service: it knows the wire and nothing else.

    with lexbandit.Client("http://127.0.0.1:8080", key="...") as client:
        decision = client.decide("router", {"prompt_tokens": 900})
        client.reward("router", decision, quality=0.93)

`AsyncClient` has the same methods to be awaited. It needs the extra `client`.
"""

from lexbandit.client.clients import AsyncClient, Client
from lexbandit.client.outbox import Outbox, Undelivered
from lexbandit.client.wire import Decided, Found, Rewarded

__all__ = ["AsyncClient", "Client", "Decided", "Found", "Outbox", "Rewarded", "Undelivered"]
