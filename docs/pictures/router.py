"""A made-up world of requests to language models, for the pictures of the guide.

The quality of an answer depends on the task and the model, its cost on the model and the length.
"""

import random
from typing import Any

MODELS = ["llama-8b", "mistral-large", "gemini-pro"]
QUALITY = {
    "code": (0.60, 0.88, 0.91),
    "maths": (0.40, 0.70, 0.92),
    "chat": (0.88, 0.90, 0.91),
}
PRICE = (0.0002, 0.002, 0.005)


class World:
    """A stream of requests, and what came out of an answer."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def request(self) -> dict[str, Any]:
        """Return the context of a request."""
        return {
            "prompt_tokens": self.dice.randint(50, 8000),
            "task": self.dice.choice(list(QUALITY)),
            "hour": self.dice.uniform(0, 24),
        }

    def answer(self, model: str, request: dict[str, Any]) -> dict[str, float]:
        """Return the quality and the cost of an answer."""
        expected = means(model, request)
        quality = min(max(self.dice.gauss(expected["quality"], 0.1), 0.0), 1.0)
        return {"quality": quality, "cost": expected["cost"]}


def means(model: str, request: dict[str, Any]) -> dict[str, float]:
    """Return the quality and the cost to be expected."""
    k = MODELS.index(model)
    cost = PRICE[k] * (1 + request["prompt_tokens"] / 1000)
    return {"quality": QUALITY[request["task"]][k], "cost": cost}
