"""Send rewards in the background, many at a time."""

import atexit
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple, Self

from lexbandit import checks
from lexbandit.client.wire import Decided, Reward, Rewarded, id_of, values_of
from lexbandit.errors import InvalidInput, ServiceError, counted

# Between attempts when the service cannot be reached; the client has tried several times before.
_PAUSE = 0.5

Send = Callable[[str, list[Reward]], list[Rewarded]]


class Letter(NamedTuple):
    """A reward on its way."""

    point: str
    id: str
    values: Mapping[str, float]


class Undelivered(ServiceError):
    """Some rewards did not arrive; `letters` has each of them with the error it met."""

    def __init__(self, letters: list[tuple[Letter, Exception]]) -> None:
        self.letters = letters
        first, error = letters[0]
        were = f"{counted(len(letters), 'reward')} {'was' if len(letters) == 1 else 'were'}"
        super().__init__(
            f"{were} not taken; the first, of decision {first.id!r} of {first.point!r}: {error}"
        )


class Outbox:
    """Takes rewards at once and sends them from a thread of its own, up to `size` at a time.

    A reward waits at most `every` seconds for others to go with. At most `room` wait: then `reward`
    waits for room. Nothing is lost without a word: while the service cannot be reached rewards stay
    here, and what it refused, or did not take until the end, is raised by `flush` and by `close`.
    """

    def __init__(self, send: Send, *, size: int, every: float, room: int) -> None:
        self._send = send
        self._size = checks.whole("size", size, least=1)
        self._every = checks.positive("every", every)
        self._room = checks.whole("room", room, least=1)
        self._queue: deque[Letter] = deque()
        self._refused: list[tuple[Letter, Exception]] = []
        self._changed = threading.Condition()
        self._hurry = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="lexbandit-outbox", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # a program may end without having closed it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """How many rewards wait here."""
        return len(self._queue)

    def reward(
        self,
        point: str,
        decision: Decided | str,
        values: Mapping[str, float] | None = None,
        /,
        **named: float,
    ) -> None:
        """Take rewards of a decision, to be sent soon."""
        letter = Letter(point, id_of(decision), dict(values_of(values, named)))
        with self._changed:
            self._changed.wait_for(self._has_room)
            if self._closed:
                raise InvalidInput("the outbox is closed; it takes nothing more.")
            if len(self._refused) >= self._room:
                raise Undelivered(self._taken())
            self._queue.append(letter)
            if len(self._queue) == 1 or len(self._queue) >= self._size:
                self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> None:
        """Wait until all are sent; raise `Undelivered` if some were refused."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            sent = self._changed.wait_for(lambda: not self._queue, timeout)
            self._hurry = False
            if self._refused:
                raise Undelivered(self._taken())
            if not sent:
                raise ServiceError(
                    f"{counted(len(self._queue), 'reward')} could not be sent in {timeout:g} s; "
                    "what is left stays here and is tried again."
                )

    def close(self) -> None:
        """Send what is left; raise `Undelivered` if not all were taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
        atexit.unregister(self.close)
        if self._refused:
            raise Undelivered(self._taken())

    def _has_room(self) -> bool:
        full = len(self._queue) >= self._room
        return not full or self._closed or len(self._refused) >= self._room

    def _taken(self) -> list[tuple[Letter, Exception]]:
        refused, self._refused = self._refused, []
        return refused

    def _run(self) -> None:
        while letters := self._next():
            try:
                refused = self._deliver(letters)
            except ServiceError as error:  # not now
                with self._changed:
                    if not self._closed:
                        self._changed.wait_for(lambda: self._closed, _PAUSE)
                        continue
                    letters = list(self._queue)
                    refused = [(letter, error) for letter in letters]
            except Exception as error:  # such as a client that was closed: it would be so again
                refused = [(letter, error) for letter in letters]
            with self._changed:
                # They leave only now: `flush` waits for an empty queue.
                for _ in letters:
                    self._queue.popleft()
                self._refused += refused
                self._changed.notify_all()

    def _next(self) -> list[Letter]:
        """Return the next rewards, of one point; wait for them, and a little for more."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed)
            self._changed.wait_for(
                lambda: len(self._queue) >= self._size or self._hurry or self._closed, self._every
            )
            letters: list[Letter] = []
            for letter in self._queue:
                if len(letters) == self._size or letter.point != self._queue[0].point:
                    break
                letters.append(letter)
            return letters

    def _deliver(self, letters: list[Letter]) -> list[tuple[Letter, Exception]]:
        """Send rewards and return the refused ones; ServiceError if they are to stay here."""
        rewards: list[Reward] = [(letter.id, letter.values) for letter in letters]
        try:
            self._send(letters[0].point, rewards)
        except InvalidInput as error:
            if len(letters) == 1:
                return [(letters[0], error)]
            # A batch is refused whole: its halves tell which rewards are meant.
            middle = len(letters) // 2
            return self._deliver(letters[:middle]) + self._deliver(letters[middle:])
        except ServiceError as error:
            if error.passing:
                raise
            return [(letter, error) for letter in letters]
        return []
