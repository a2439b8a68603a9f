"""Wrong input of every public function is refused with words that help, and changes nothing."""

import enum
import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT
from lexbandit.chooser import RecordingChooser
from support import says

Make = Callable[..., RecordingChooser]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"objectives": []}, "one or more Objective"),
        ({"objectives": 3}, "one or more Objective"),
        ({"objectives": ["quality"]}, "one or more Objective"),
        ({"objectives": [lb.Objective("q"), lb.Objective("q")]}, "two objectives are called 'q'"),
        ({"arms": []}, "arms is empty"),
        ({"arms": "abc"}, "list of names"),
        ({"arms": 3}, "list of names"),
        ({"arms": ["a", "b", "a"]}, "two arms are called 'a'"),
        ({"arms": ["a", ""]}, "must be text"),
        ({"arms": ["a", 3]}, "must be text"),
        ({"context": None}, "list of features"),
        ({"context": [lb.Number("x"), lb.Flag("x")]}, "two context features are called 'x'"),
        ({"context": [lb.Number("cost")]}, "feature are both called 'cost'"),
        ({"context": [lb.Flag("arm")]}, "no context feature can be called 'arm'"),
        ({"objectives": [lb.Objective("q"), lb.Objective("arm")]}, "no objective can be .* 'arm'"),
        ({"policy": "lex-linuc"}, "did you mean 'lex-linucb'"),
        ({"policy": 3}, "unknown policy 3"),
        ({"policy": "moc-mab"}, r"horizon=100_000"),
        ({"policy": "moc-mab", "horizon": 0}, "horizon"),
        ({"policy": "moc-mab", "horizon": 99, "cells_per_side": [1, 2]}, "each of 3 coordinates"),
        ({"policy": "moc-mab", "horizon": 99, "cells_per_side": "many"}, "cells_per_side"),
        ({"cautin": 0.5}, "did you mean 'caution'"),
        ({"scale": -1}, "scale must be"),
        ({"explore": 1.5}, "at most 1"),
        ({"explore": -0.1}, "at least 0"),
        ({"explore": math.nan}, "explore"),
        ({"explore": True}, "explore"),
        ({"wait": 0}, "wait must be"),
        ({"wait": math.inf}, "wait must be"),
        ({"wait": "1h"}, "wait must be"),
        ({"keep": 0}, "keep must be"),
        ({"keep": 2.5}, "keep must be"),
        ({"seed": -1}, "seed must be"),
        ({"seed": None}, "seed must be"),
        ({"clock": 3}, "clock must be a function"),
    ],
)
def test_wrong_definitions(make: Make, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(lb.InvalidInput, match=words):
        make(**settings)


def test_what_is_missing_is_missing_of_a_chooser() -> None:
    with pytest.raises(TypeError, match=r"^Chooser\.__init__.* missing .*'objectives' and 'arms'"):
        RecordingChooser()  # type: ignore[call-arg]


def test_a_policy_object_must_fit(make: Make) -> None:
    def policy(**given: Any) -> Any:
        values = {"arms": 3, "dimension": 6, "objectives": 2, **given}
        return lb.make_policy("lex-linucb", **values)

    make(policy=policy(tolerance=[0.02, 0]))
    with pytest.raises(lb.InvalidInput, match="the policy has 4 arms, the chooser 3"):
        make(policy=policy(arms=4))
    with pytest.raises(lb.InvalidInput, match="the policy has 3 objectives, the chooser 2"):
        make(policy=policy(objectives=3))
    with pytest.raises(lb.InvalidInput, match="become 6 coordinates, or 3 for a policy on cells"):
        make(policy=policy(dimension=5))
    with pytest.raises(lb.InvalidInput, match=r"scale=0\.5: settings are for a policy by name"):
        make(policy=policy(), scale=0.5)


@pytest.mark.parametrize("method", ["choose", "explain"])
@pytest.mark.parametrize(
    ("context", "allowed", "kind", "words"),
    [
        (None, None, lb.InvalidInput, "must be a mapping"),
        ([900, "code", 3], None, lb.InvalidInput, "must be a mapping"),
        ({**CONTEXT, "taks": "code"}, None, lb.UnknownName, "did you mean 'task'"),
        ({"task": "code", "hour": 3}, None, lb.InvalidInput, "'tokens' is missing;"),
        ({}, None, lb.InvalidInput, "'tokens' is missing;"),
        ({**CONTEXT, "tokens": math.nan}, None, lb.InvalidInput, r"'tokens' is missing \(nan\);"),
        ({**CONTEXT, "tokens": math.inf}, None, lb.InvalidInput, "from 0 to 8000"),
        ({**CONTEXT, "tokens": "many"}, None, lb.InvalidInput, "a number, got 'many'\\."),
        ({**CONTEXT, "tokens": "9"}, None, lb.InvalidInput, r"'9' \(a text: convert it with float"),
        ({**CONTEXT, "hour": "9"}, None, lb.InvalidInput, r"'9' \(a text: convert it with float"),
        ({**CONTEXT, "tokens": 1e9, "hour": "x"}, None, lb.InvalidInput, "finite number"),
        ({**CONTEXT, "tokens": 1e9}, [], lb.InvalidInput, "allowed is empty"),
        ({**CONTEXT, "tokens": 1e9}, "small", lb.InvalidInput, "list of arms"),
        ({**CONTEXT, "tokens": 1e9}, 3, lb.InvalidInput, "list of arms"),
        ({**CONTEXT, "tokens": 1e9}, ["smal"], lb.UnknownName, "did you mean 'small'"),
        ({**CONTEXT, "tokens": 1e9}, [None], lb.UnknownName, "unknown arm None; a text is needed"),
        ({**CONTEXT, "tokens": 1e9}, [["small"]], lb.UnknownName, "unknown arm"),
        ({**CONTEXT, "tokens": 1e9}, ["medium"], lb.InvalidInput, "retired"),
    ],
)
def test_wrong_questions_change_nothing(
    make: Make, method: str, context: Any, allowed: Any, kind: type[Exception], words: str
) -> None:
    chooser, untouched = make(), make()
    for one in (chooser, untouched):
        one.retire_arm("medium")
    with pytest.raises(kind, match=words):
        getattr(chooser, method)(context, allowed)
    assert chooser.waiting == 0
    assert chooser.contexts.counts == {"tokens": {}, "task": {}, "hour": {}}
    assert [chooser.choose(CONTEXT).arm for _ in range(20)] == [
        untouched.choose(CONTEXT).arm for _ in range(20)
    ]


def test_wrong_rewards(make: Make) -> None:
    chooser = make()
    decision = chooser.choose(CONTEXT)
    for wrong in (0.9, [0.9, 0.01], "quality"):
        with pytest.raises(lb.InvalidInput, match="given by name"):
            chooser.reward(decision, wrong)  # type: ignore[arg-type]
    with pytest.raises(lb.Contradiction, match=r"given as 0\.9 and as 0\.8"):
        chooser.reward(decision, {"quality": 0.9}, quality=0.8)
    assert sum(chooser.summary().plays.values()) == 0
    nothing: dict[str, float] | None
    for nothing in (None, {}):
        with pytest.raises(lb.InvalidInput, match="no reward is given; give one or more of"):
            chooser.reward(decision, nothing)
    with pytest.raises(lb.InvalidInput, match=r"got '0\.731' \(a text: convert it with float"):
        chooser.reward(decision, quality="0.731")  # type: ignore[arg-type]
    twice: list[Any] = [np.array([0.9, 0.8]), "good", None]
    for value in twice:
        with pytest.raises(lb.InvalidInput, match="quality must be a finite number"):
            chooser.reward(decision, {"quality": value}, quality=value)
    assert sum(chooser.summary().plays.values()) == 0
    chooser.reward(decision, {"quality": 0.9}, cost=0.01)
    assert sum(chooser.summary().plays.values()) == 1


def test_wrong_arms(make: Make) -> None:
    chooser = make()
    for wrong in ("", 3, None):
        with pytest.raises(lb.InvalidInput, match="must be text"):
            chooser.add_arm(wrong)  # type: ignore[arg-type]
    with pytest.raises(lb.UnknownName, match="did you mean 'small'"):
        chooser.retire_arm("smal")
    with pytest.raises(lb.UnknownName, match="unknown arm"):
        chooser.retire_arm([])  # type: ignore[arg-type]
    chooser.retire_arm("small")
    with pytest.raises(lb.InvalidInput, match="retired already"):
        chooser.retire_arm("small")
    chooser.retire_arm("large")
    with pytest.raises(lb.InvalidInput, match="is the last one"):
        chooser.retire_arm("medium")
    assert chooser.arms == ("medium",)


def test_every_error_is_one_of_ours() -> None:
    for error in (lb.UnknownName, lb.UnknownDecision, lb.Contradiction):
        assert issubclass(error, lb.InvalidInput)
    assert issubclass(lb.InvalidInput, ValueError)


@pytest.mark.parametrize("kind", ["array", "Series", "NA", "None", "list"])
def test_a_setting_that_is_no_text_is_refused(make: Make, kind: str) -> None:
    wrong: Any = {"array": np.array(["max", "clip"]), "None": None, "list": ["max"]}.get(kind)
    if kind in ("Series", "NA"):
        pd = pytest.importorskip("pandas")
        wrong = pd.NA if kind == "NA" else pd.Series(["max", "clip"])
    calls: list[Callable[[], Any]] = [
        lambda: lb.Objective("q", goal=wrong),
        lambda: lb.Objective("q", outside=wrong),
        lambda: lb.Number("x", scale=wrong),
        lambda: lb.Number("x", missing=wrong),
        lambda: lb.Number("x", outside=wrong),
        lambda: lb.Category("x", ["a"], missing=wrong),
    ]
    if wrong is not None:  # None is the default policy
        calls.append(lambda: make(policy=wrong))
    for call in calls:
        with pytest.raises(lb.UnknownName, match=r"a text is needed\. Known: '"):
            call()


@pytest.mark.parametrize("wrong", [None, 3, "ab", [], b"ab"])
def test_the_values_of_a_category_are_a_list(wrong: Any) -> None:
    with pytest.raises(lb.InvalidInput, match="values of feature 't' must be a list of names, got"):
        lb.Category("t", wrong)


def test_the_name_of_a_value_has_its_article() -> None:
    with pytest.raises(lb.InvalidInput, match=r"^the name of a value of feature 't' must be text"):
        lb.Category("t", ["a", 3])  # type: ignore[list-item]
    with pytest.raises(lb.InvalidInput, match=r"^the name of an objective must be text"):
        lb.Objective("")


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(("wrong", "shown"), [(1, "1"), (Colour.RED, "<Colour.RED: 'red'>")])
def test_a_value_of_a_category_is_a_text(make: Make, wrong: Any, shown: str) -> None:
    chooser = make(context=[lb.Category("t", ["1", "red"])])
    with pytest.raises(lb.UnknownName) as caught:
        chooser.choose({"t": wrong})
    assert says(caught.value, "context feature 't'", shown, "text is needed", "'1', 'red'")


def test_a_long_value_is_not_echoed_whole(make: Make) -> None:
    long = "x" * 1_000_000
    calls: list[Callable[[], Any]] = [
        lambda: make().choose({**CONTEXT, "tokens": long}),
        lambda: make().choose_many([{**CONTEXT, "tokens": long}]),
        lambda: make().reward(long, quality=1.0),
        lambda: make().learn({long: [1], "arm": ["small"]}),
        lambda: make().choose(CONTEXT, [long]),
        lambda: RecordingChooser.load(long),
    ]
    for call in calls:
        with pytest.raises(lb.InvalidInput) as caught:
            call()
        assert 900 < len(str(caught.value)) < 1000
        assert re.search(r" … \((999|1,000),\d{3} characters left out\) … ", str(caught.value))
        again = pickle.loads(pickle.dumps(caught.value))
        assert str(again) == str(caught.value)
    with pytest.raises(lb.InvalidInput, match=r"^unknown arm 'xx.*Known: large, medium, small\.$"):
        make().choose(CONTEXT, [long])
