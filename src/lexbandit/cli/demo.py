"""`lexbandit demo`: a service with simulated traffic, to watch it learn in the browser."""

import asyncio
import contextlib
import heapq
import math
import random
import shlex
import signal
import tempfile
import threading
import time
import webbrowser
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lexbandit.cli.notices import compile_notices, needs
from lexbandit.errors import InvalidInput, ServiceError, counted

if TYPE_CHECKING:
    from lexbandit.client import Client

POINT = "router"
# The price of 4,000 tokens, and how hard a prompt may be before quality falls.
_MODELS = {"small": (0.0012, 0.32), "medium": (0.006, 0.62), "large": (0.02, math.inf)}
_HARDNESS = {"chat": 0.0, "extract": 0.2, "code": 0.45}
_TOLERANCE = 0.03
# The share of decisions that are drawn uniformly, so that after a minute or two the log can tell
# what another policy would have done.
_EXPLORE = 0.2
# The number of recent prompts that count for how often the right model is chosen.
_RECENT = 500
# Requests a second that the simulated users make.
_RATE = 80.0
_AT_ONCE = 20
# Seconds between messages about the standing.
_EVERY = 10.0
# Seconds without an answer until a message: on Ctrl-C the service ends before the traffic does.
_PATIENCE = 5.0

CONFIG = f"""\
[service]
storage = "sqlite:demo.db"
log_level = "warning"

[points.router]
arms = ["small", "medium", "large"]
explore = {_EXPLORE}
wait = 20

[[points.router.objectives]]
name = "quality"
range = [0, 1]
tolerance = {_TOLERANCE}

[[points.router.objectives]]
name = "cost"
goal = "min"
range = [0, 0.06]
tolerance = 0.002

[[points.router.context]]
kind = "number"
name = "prompt_tokens"
low = 50
high = 8000
scale = "log"

[[points.router.context]]
kind = "category"
name = "task"
values = ["chat", "extract", "code"]

[[points.router.context]]
kind = "cycle"
name = "hour"
period = 24
"""
"""The decision point of the demo: which language model answers, quality first, then cost."""


class World:
    """Simulated prompts and answers of three models: a larger model costs more and can do more."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)

    def prompt(self) -> dict[str, Any]:
        """Return the context of the next prompt."""
        draw = self._random
        return {
            "prompt_tokens": round(50 * 160 ** draw.random()),
            "task": draw.choice(("chat", "chat", "extract", "code")),
            "hour": round(draw.uniform(0, 24), 2),
        }

    def answer(self, prompt: dict[str, Any], arm: str) -> dict[str, float]:
        """Return quality and cost of an answer."""
        draw, (price, _) = self._random, _MODELS[arm]
        quality = draw.gauss(self.true_quality(prompt, arm), 0.12)
        busy = 1 + 0.3 * math.sin((prompt["hour"] - 9) / 12 * math.pi)
        cost = price * (0.4 + prompt["prompt_tokens"] / 4000) * busy * draw.uniform(0.8, 1.2)
        return {"quality": min(max(quality, 0.0), 1.0), "cost": min(cost, 0.06)}

    def true_quality(self, prompt: dict[str, Any], arm: str) -> float:
        """Return the quality around which a model's answers to such prompts vary."""
        _, limit = _MODELS[arm]
        hardness = _HARDNESS[prompt["task"]] + 0.45 * prompt["prompt_tokens"] / 8000
        return 0.9 - 1.2 * max(0.0, float(hardness) - limit)

    def right(self, prompt: dict[str, Any]) -> str:
        """Return the right model: the cheapest whose true quality is within the tolerance."""
        qualities = {arm: self.true_quality(prompt, arm) for arm in _MODELS}
        least = max(qualities.values()) - _TOLERANCE
        return min(
            (arm for arm in _MODELS if qualities[arm] >= least), key=lambda arm: _MODELS[arm]
        )

    def delay(self) -> float:
        """Return how many seconds pass until the quality of an answer is known; ∞ for never."""
        draw = self._random.random()
        if draw < 0.01:
            return 25.0  # after the 20 that the service waits
        return math.inf if draw < 0.05 else self._random.uniform(0.5, 4.0)


class Traffic(threading.Thread):
    """Simulated users, who send the cost of an answer at once and its quality seconds later."""

    def __init__(self, url: str, seconds: float) -> None:
        super().__init__(name="traffic", daemon=True)
        self._url = url
        self._seconds = seconds
        self._world = World()
        self._over = threading.Event()
        self._due: list[tuple[float, str, float]] = []
        self._rights: deque[bool] = deque(maxlen=_RECENT)

    def stop(self) -> None:
        """Stop the traffic and wait until it has ended."""
        self._over.set()
        self.join(10)

    def run(self) -> None:
        """Send requests until the time is over or `stop` is called."""
        from lexbandit.client import Client  # noqa: PLC0415 - httpx is loaded for a demo only

        made, next_report = 0, _EVERY
        with Client(self._url, retries=0) as client:
            begin = time.monotonic()
            while not self._over.wait(0.05):
                now = time.monotonic() - begin
                if now >= self._seconds:
                    return
                try:
                    behind = int(now * _RATE) - made
                    for _ in range(min(behind, _AT_ONCE)):
                        self._ask(client, now)
                    made += behind  # on a slow machine there is less traffic, and no backlog
                    self._tell(client, now)
                    if now >= next_report:
                        click.echo(standing(now, client.summary(POINT), self._rights))
                        next_report += _EVERY
                except ServiceError as error:
                    ended = time.monotonic() - begin >= self._seconds
                    if not ended and not self._over.wait(_PATIENCE):
                        click.echo(f"the service does not answer: {error}", err=True)

    def _ask(self, client: "Client", now: float) -> None:
        prompt = self._world.prompt()
        decision = client.decide(POINT, prompt)
        self._rights.append(decision.arm == self._world.right(prompt))
        answer = self._world.answer(prompt, decision.arm)
        client.reward(POINT, decision, cost=answer["cost"])
        due = now + self._world.delay()
        if due < math.inf:
            heapq.heappush(self._due, (due, decision.id, answer["quality"]))

    def _tell(self, client: "Client", now: float) -> None:
        rewards = []
        while self._due and self._due[0][0] <= now:
            _, id, quality = heapq.heappop(self._due)
            rewards.append((id, {"quality": quality}))
        if rewards:
            client.reward_many(POINT, rewards)


def standing(seconds: float, summary: dict[str, Any], rights: Sequence[bool]) -> str:
    """Return a line about the results so far.

    It compares with always playing the largest model, and with the truth of the simulation:
    `rights` says of the last decisions whether the right model was chosen.
    """
    line = f"{seconds:4.0f} s  {counted(summary['decisions'], 'decision'):>16}"
    means, gains = [], []
    for name, up, down in (("quality", "higher", "lower"), ("cost", "lower", "higher")):
        mean, gain = summary["received"][name]["value"], summary["against"]["large"][name]["value"]
        if mean is not None:
            means.append(f"   {name} {mean:.4f}")
        if gain is not None:
            gains.append(f"{name} {abs(gain):.4f} {up if gain >= 0 else down}")
    line += "".join(means)
    if gains:
        line += f"   compared with always large: {', '.join(gains)}"
    if rights:
        line += f"   right model: {sum(rights) / len(rights):.0%} of the last {len(rights)}"
    return line


@click.command("demo")
@click.option("--seconds", type=float, default=600.0, show_default=True, help="When it ends.")
@click.option("--port", type=int, default=0, help="Port to serve on.  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Keep the log and the configuration in this folder; a demo that is there goes on.",
)
def command(seconds: float, port: int, no_browser: bool, keep: Path | None) -> None:
    """Start a service with simulated traffic, and show its dashboard.

    Which of three language models answers a prompt: quality first, then cost. Everything is in a
    temporary folder that is removed at the end, unless --keep names one.
    """
    if not 0 < seconds <= 86_400:
        raise InvalidInput(f"--seconds must be above 0 and at most 86400, got {seconds:g}.")
    with needs("service"):
        from lexbandit.client import Client  # noqa: F401, PLC0415
        from lexbandit.service.config.file import read_config  # noqa: PLC0415
        from lexbandit.service.process import run, serve  # noqa: PLC0415
    traffic: list[Traffic] = []

    def started(url: str, _: Any) -> None:
        click.echo(f"Watch it learn: {url}/\nIt ends after {seconds:g} s, or by Ctrl-C.")
        click.echo(
            "The right model is the cheapest whose true quality, which only the simulation knows, "
            f"is within {_TOLERANCE:g} of the best. Of the choices {_EXPLORE:.0%} are drawn at "
            "random, so that the log can judge other policies: about "
            f"{1 - _EXPLORE + _EXPLORE / len(_MODELS):.0%} right is all there can be."
        )
        traffic.append(Traffic(url, seconds))
        traffic[0].start()
        asyncio.get_running_loop().call_later(seconds, signal.raise_signal, signal.SIGINT)
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=(f"{url}/",), daemon=True).start()

    with _folder(keep) as folder:
        place = folder / "demo.toml"
        if not place.exists():
            place.write_text(CONFIG, encoding="utf-8")
        click.echo("Starting…")
        try:
            with compile_notices(err=False):
                config = read_config(place, {}, {"port": port})
                run(serve(config, no_auth=True, started=started), config)
        finally:
            for one in traffic:
                one.stop()
    if keep is not None:
        click.echo(next_steps(keep))
    click.echo("The demo is over. `lexbandit serve --sample` prints a configuration to begin with.")


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Yield the folder of a demo: a temporary one, or one that stays."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="lexbandit-demo-") as folder:
            yield Path(folder)
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot make the folder {keep}: {error.strerror}.") from error
    yield keep


def next_steps(folder: Path) -> str:
    """Return commands to try on the log of a demo."""
    storage = shlex.quote(f"sqlite:{folder / 'demo.db'}")
    config = shlex.quote(str(folder / "demo.toml"))
    return (
        f"The log is in {folder}. What would always-medium have done?\n"
        f"  lexbandit evaluate {storage} --candidate always:medium --out report.html\n"
        "The same by a file:\n"
        f"  lexbandit export {POINT} --to decisions.parquet --config {config}\n"
        f"  lexbandit evaluate decisions.parquet --like {config} --candidate always:medium"
    )
