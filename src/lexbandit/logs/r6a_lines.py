"""One line of the Yahoo! R6A files: what it says, and how it is written.

    1241160900 109513 0 |user 2:0.000012 … 6:0.999958 1:1.000000 |109498 2:0.306008 … |109509 …

A timestamp, the article that was displayed, whether it was clicked, the visitor's six features and
the pool: every article that could have been displayed, with its six features. Feature 1 is the
constant 1 and is dropped.

Only what is used is judged: the head, the visitor and the displayed article. The published files
have lines whose pool lists an article without any feature; such a line is sound unless that very
article was displayed, and then the event has no features to show for it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

# The features that are read, in order; feature 1 is constant.
FEATURES = ("2", "3", "4", "5", "6")
_CONSTANT = "1"
_SHAPE = "timestamp article click |user six features |article six features ..."


class Visit(NamedTuple):
    """What is read of one line: of visitor and displayed article, the five features that vary.

    `shown` is None if the displayed article is listed without features.
    """

    timestamp: int
    article: int
    click: int
    user: tuple[float, ...]
    shown: tuple[float, ...] | None


class MalformedLine(ValueError):
    """A line that is not as the format has it; the message says what was expected."""


def parse_line(line: str) -> Visit:
    """Return the event of one line.

    This is the plain reading: the fast one in `r6a_reader` hands over every line it cannot take.
    """
    head, *sections = line.split("|")
    words = head.split()
    if len(words) != 3 or not sections:
        raise MalformedLine(f"expected '{_SHAPE}', got {_shortened(line)}")
    timestamp = _whole("the timestamp", words[0])
    article = _whole("the displayed article", words[1])
    if words[2] not in ("0", "1"):
        raise MalformedLine(f"expected a click of 0 or 1, got {_shortened(words[2])}")
    name, *features = sections[0].split() or [""]
    if name != "user":
        raise MalformedLine(f"expected '|user' before the pool, got {_shortened(sections[0])}")
    user = _features("the user", features)
    for section in sections[1:]:
        name, *features = section.split() or [""]
        if name == words[1]:
            shown = _features(f"article {name}", features) if features else None
            return Visit(timestamp, article, int(words[2]), user, shown)
    raise MalformedLine(
        f"expected the displayed article {words[1]} among the {len(sections) - 1} of the pool"
    )


def check_whole(line: str) -> None:
    """Refuse a line whose last section is not whole: the end of a file that was cut off."""
    name, *features = line.rpartition("|")[2].split() or [""]
    _features(f"'{name}' at its end", features)


def features_of(values: Sequence[float]) -> str:
    """Return five features and the constant as the files print them."""
    a, b, c, d, e = values
    return f"2:{a:.6f} 3:{b:.6f} 4:{c:.6f} 5:{d:.6f} 6:{e:.6f} 1:1.000000"


def _features(whose: str, words: list[str]) -> tuple[float, ...]:
    """Return features 2 to 6, which may stand in any order."""
    found: dict[str, float] = {}
    for word in words:
        number, colon, text = word.partition(":")
        if not colon or number not in (*FEATURES, _CONSTANT) or number in found:
            raise MalformedLine(
                f"expected features 1 to 6 of {whose}, once each, as number:value, "
                f"got {_shortened(word)}"
            )
        found[number] = _finite(f"feature {number} of {whose}", text)
    if len(found) != 6:
        raise MalformedLine(f"expected 6 features of {whose}, got {len(found)}")
    if found[_CONSTANT] != 1.0:
        raise MalformedLine(
            f"expected feature 1 of {whose} to be the constant 1, got {found[_CONSTANT]:g}"
        )
    return tuple(found[number] for number in FEATURES)


def _finite(what: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise MalformedLine(f"expected a finite number as {what}, got {_shortened(text)}")
    return value


def _whole(what: str, text: str) -> int:
    # int() would take "1_000" and digits of other scripts.
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise MalformedLine(f"expected a whole number as {what}, got {_shortened(text)}")
    return int(text)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "...")
