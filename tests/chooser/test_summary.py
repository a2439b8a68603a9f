"""The summary: averages with their intervals, comparisons in words."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT
from lexbandit.chooser import RecordingChooser
from lexbandit.chooser.reward_sums import ArmDifference, average_interval
from lexbandit.chooser.summary import Mean, Summary, numbers
from lexbandit.kernels import comparison as kernel
from support import cached, says

Make = Callable[..., RecordingChooser]
RECEIVE = cached(kernel.receive)


def told(value: float, low: float, high: float, **settings: Any) -> ArmDifference:
    given: dict[str, Any] = {"level": 0.95, "decisions": 100, "tried": 50, "modelled": 0.0}
    return ArmDifference(value, low, high, **{**given, **settings})


def received(values: list[float]) -> list[float]:
    """Return the kernel's sums of these rewards."""
    sums = np.zeros((1, kernel.RECEIVED))
    for value in values:
        RECEIVE(sums, 0, value)
    return [float(number) for number in sums[0]]


def summary_of(against: dict[str, dict[str, ArmDifference]], **settings: Any) -> Summary:
    names = list(next(iter(against.values())))
    plays = {arm: len(against) - n for n, arm in enumerate(against)}
    received = dict.fromkeys(names, Mean(0.5, 0.4, 0.6, 100))
    return Summary(received, against, plays, 100, 100, **settings)


def test_comparisons_need_no_signs() -> None:
    """Positive is better for the chooser; the text says how always playing the arm would be."""
    arms = {
        "a": {"quality": told(0.0084, -0.046, 0.063), "cost": told(-0.2, -0.3, -0.1)},
        "b": {"quality": told(0.2, 0.1, 0.3, modelled=0.934), "cost": told(0.0, 0.0, 0.0)},
        "c": {"quality": told(0.2, 0.1, 0.3, decisions=40), "cost": told(1, 0.5, 2, decisions=0)},
    }
    lines = str(summary_of(arms)).splitlines()[-4:]
    assert lines == [
        "Always playing one arm instead would have been (95 % intervals):",
        "always a: quality 0.008 worse (0.063 worse to 0.046 better), cost 0.20 better "
        "(0.10 to 0.30)",
        "always b: quality 0.20 worse (0.10 to 0.30), cost the same, since it was always played "
        "[93% judged by the model]",
        "always c: quality 0.20 worse (0.10 to 0.30) [over the 40 of 100 decisions that allowed "
        "it]",
    ]


def test_what_cannot_be_told_is_said() -> None:
    unknown = ArmDifference(None, None, None, 0.95, 2000, 1, 0.99)
    known = told(0.2, 0.1, 0.3, decisions=2000)
    first = {"quality": ArmDifference(None, None, None, 0.95, 1, 1, 0.0)}
    assert str(summary_of({"large": first})).endswith(
        "always large: cannot tell: it was tried 1 time in 1 decision; more decisions will tell"
    )
    both = {"large": {"quality": unknown, "cost": unknown}}
    tried = "always large: cannot tell: it was tried 1 time in 2,000 decisions; "
    assert tried + "explore=0.05 would tell" in str(summary_of(both))
    assert tried + "more decisions will tell" in str(summary_of(both, explore=0.05))
    half = {"large": {"quality": unknown, "cost": known}}
    assert "always large: quality unknown, cost 0.20 worse (0.10 to 0.30)" in str(summary_of(half))


def test_at_most_ten_arms_are_shown_the_most_played_first() -> None:
    one = {"quality": told(0.2, 0.1, 0.3)}
    lines = str(summary_of({f"arm {n}": one for n in range(1000)})).splitlines()
    assert lines[1].startswith("Rewarded plays: arm 0 0.2%, arm 1 ")
    assert lines[1].endswith("arm 9 0.2%, and 990 more arms.")
    assert [line.split(":")[0] for line in lines[-11:-1]] == [f"always arm {n}" for n in range(10)]
    assert lines[-1] == "and 990 more arms."


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ((0.0123, 0.0043, 0.0203), ["0.0123", "0.0043", "0.0203"]),
        ((1.7e9, 1.7e9 - 10, 1.7e9 + 10), ["1,700,000,000", "1,699,999,990", "1,700,000,010"]),
        (
            (1.959e14, 1.85e14, 2.07e14),
            ["196" + ",000" * 4, "185" + ",000" * 4, "207" + ",000" * 4],
        ),
        ((0.9, 0.9, 0.9), ["0.9", "0.9", "0.9"]),
        ((1e-12, 0.0, 2e-12), ["1e-12", "0", "2e-12"]),
        ((0.0, -0.0001, 0.0001), ["0.00000", "-0.00010", "0.00010"]),
    ],
)
def test_numbers_have_the_digits_that_are_known(
    given: tuple[float, float, float], texts: list[str]
) -> None:
    assert numbers(*given) == texts


def test_ten_successes_are_not_certain(make: Make) -> None:
    """Wilson's interval of 10 in 10 begins at 10 / (10 + z²) = 0.722."""
    chooser = make()
    for _ in range(10):
        chooser.reward(chooser.choose(CONTEXT), quality=1)
    mean = chooser.summary().received["quality"]
    assert mean.value == 1.0
    assert mean.low == pytest.approx(10 / (10 + 1.959964**2))
    assert mean.high == 1.0
    assert "quality  on average 1.00 (0.72 to 1.00)" in str(chooser.summary())


@pytest.mark.parametrize(("ones", "n"), [(0, 1), (1, 1), (0, 20), (3, 20), (10, 20), (199, 200)])
def test_rewards_of_0_and_1_have_wilsons_interval(ones: int, n: int) -> None:
    """The ends are where the share is 1.96 standard errors of that end away."""
    got = received([1.0] * ones + [0.0] * (n - ones))
    ends = average_interval(got, lb.Objective("quality"))
    assert ends is not None
    for end, inner in zip(ends, (0.0, 1.0), strict=True):
        if ones / n == inner:
            assert end == inner
        else:
            error = math.sqrt(end * (1 - end) / n)
            assert abs(ones / n - end) == pytest.approx(1.959964 * error)


def test_wilsons_interval_covers_rare_and_frequent_shares() -> None:
    """At least 92 % of 2,000 samples of 50 for rates from 1 to 99 % (its least is near 90 %)."""
    random = np.random.default_rng(4)
    for rate in (0.01, 0.05, 0.3, 0.9, 0.99):
        covered = 0
        for ones in random.binomial(50, rate, 2000).tolist():
            got = [50.0, 0.0, float(ones), float(ones), 1.0]
            low, high = average_interval(got, lb.Objective("quality")) or (1.0, 0.0)
            covered += low <= rate <= high
        assert covered >= 0.90 * 2000


def binary(chooser: RecordingChooser) -> list[bool]:
    """Return of each objective whether all its rewards were 0 or 1."""
    return [bool(flag) for flag in chooser._ledger.sums.received[:, kernel.BINARY]]


def test_whether_all_rewards_were_0_or_1_is_kept(make: Make) -> None:
    one, many = make(), make()
    values = [0, 1.0, 0.0, 1]
    for value in values:
        one.reward(one.choose(CONTEXT), quality=value, cost=0.01)
    ids = [many.choose(CONTEXT).id for _ in values]
    many.reward_many(ids, {"quality": values, "cost": [0.01] * 4})
    for chooser in (one, many, RecordingChooser.from_bytes(one.to_bytes())):
        assert binary(chooser) == [True, False]
        np.testing.assert_array_equal(chooser._ledger.sums.received, one._ledger.sums.received)
    one.merge(many)
    assert binary(one) == [True, False]
    one.reward(one.choose(CONTEXT), quality=0.5)
    assert binary(one) == [False, False]
    many.merge(make())
    assert binary(many) == [True, False]


def test_equal_rewards_are_not_certain() -> None:
    """If other values had a chance of more than 1 − 0.025^(1/n), n equal ones were unlikely."""
    objective = lb.Objective("speed", range=(0, 10))
    got = received([2.5] * 100)
    rare = 1 - 0.025 ** (1 / 100)
    ends = average_interval(got, objective)
    assert ends == pytest.approx((2.5 - rare * 2.5, 2.5 + rare * 7.5))


def test_one_reward_has_no_interval(make: Make) -> None:
    chooser = make()
    chooser.reward(chooser.choose(CONTEXT), quality=0.9)
    assert "quality  on average 0.9, by one reward" in str(chooser.summary())
    chooser.reward(chooser.choose(CONTEXT), quality=0.8)
    chooser.reward(chooser.choose(CONTEXT), quality=0.7)
    mean = chooser.summary().received["quality"]  # s/√n = 0.1/√3, t of 2 degrees of freedom
    assert mean.low == pytest.approx(0.8 - 4.30265 * 0.1 / 3**0.5)
    assert mean.high == 1.0  # rewards lie in the range, so their mean does


# The range tells little of where the rewards lie, or nothing; the last begins far from the others.
FAR = [
    ((1.7e9 - 100, 1.7e9 + 100), 0.0),
    ((0.0, 2e9), 0.0),
    ((-2e9, 2e9), -1.7e9),
]


@pytest.mark.parametrize(("range_", "first"), FAR)
@pytest.mark.parametrize("told", ["one by one", "at once", "in two choosers", "over a file"])
def test_large_rewards_that_differ_little_have_a_right_interval(
    range_: tuple[float, float], first: float, told: str
) -> None:
    values = 1.7e9 + np.random.default_rng(3).uniform(-10.0, 10.0, 500)
    if first:
        values[0] = first
    chooser, other = (
        RecordingChooser(objectives=lb.Objective("epoch", range=range_), arms=["a", "b"])
        for _ in range(2)
    )
    if told == "at once":
        for half in (values[:250], values[250:]):
            chooser.reward_many([chooser.choose().id for _ in half], {"epoch": half})
    else:
        for k, value in enumerate(values):
            one = other if told == "in two choosers" and k >= 250 else chooser
            one.reward(one.choose(), epoch=value)
            if told == "over a file" and k == 250:
                chooser = RecordingChooser.from_bytes(chooser.to_bytes())
    if told == "in two choosers":
        chooser.merge(other)
    mean = chooser.summary().received["epoch"]
    half = 1.9647 * values.std(ddof=1) / np.sqrt(len(values))  # of 499 degrees of freedom
    assert mean.count == 500
    assert mean.value == pytest.approx(values.mean(), rel=1e-14)
    assert mean.low is not None
    assert mean.high is not None
    assert (mean.high - mean.low) / 2 == pytest.approx(half, rel=1e-4)


def test_the_summary_of_nothing(make: Make) -> None:
    summary = make().summary()
    assert summary.received["quality"].value is None
    nothing = summary.against["small"]["cost"]
    assert (nothing.value, nothing.decisions, nothing.modelled) == (None, 0, 0.0)
    assert "nothing yet" in str(summary)
    assert str(summary).endswith("Always playing one arm instead: nothing known yet.")
    assert "logs" not in str(summary)


def test_the_summary_after_a_warm_start_says_what_it_is_about(make: Make) -> None:
    chooser = make()
    log = {"tokens": [900] * 3, "task": ["code"] * 3, "hour": [12] * 3, "quality": [0.5, 0.7, 0.9]}
    chooser.learn({**log, "arm": ["small", "small", "large"]})
    summary = chooser.summary()
    assert (summary.rows, summary.decisions) == (3, 0)
    assert str(summary).splitlines() == [
        "0 decisions, 0 open for rewards.",
        "Learned from 3 rows of logs besides.",
        "Rewarded plays: small 66.7%, medium 0.0%, large 33.3%.",
        "Its own decisions, without the logs:",
        "quality  on average nothing yet",
        "cost     on average nothing yet",
        "Always playing one arm instead: nothing known yet.",
    ]
    again = RecordingChooser.from_bytes(chooser.to_bytes())
    assert str(again.summary()) == str(summary)
    other = make()
    other.merge(chooser)
    assert other.summary().rows == 3


@pytest.mark.parametrize("many", [False, True])
def test_the_summary_says_what_was_taken_otherwise_than_given(make: Make, many: bool) -> None:
    """Quality in percent by mistake: what is learned is averaged, and the mistake is said."""
    chooser = make()
    told = {"quality": [80.0, 93.0, 0.5, -3.0], "cost": [0.01, 0.01, 0.01, 0.06]}
    contexts = [CONTEXT, CONTEXT, {**CONTEXT, "tokens": 9000}, {**CONTEXT, "task": "poetry"}]
    if many:
        chooser.reward_many(chooser.choose_many(contexts), told)
    else:
        for n, context in enumerate(contexts):
            values = {name: column[n] for name, column in told.items()}
            chooser.reward(chooser.choose(context), values)
    summary = chooser.summary()
    assert summary.received["quality"].value == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert summary.received["cost"].value == pytest.approx(0.02)
    assert summary.outside == {"quality": 3, "cost": 1} == chooser.outside
    lines = str(summary).splitlines()
    assert says(lines[4], "3 rewards of quality", "outside its range 0 to 1")
    assert any(says(line, "1 reward of cost", "outside its range 0 to 0.05") for line in lines)
    noted = [line for line in lines if "Context values" in line]
    assert says(noted, "1 of tokens (outside its range)", "1 of task (unknown)")


def test_the_summary_says_nothing_of_what_was_taken_as_given(make: Make) -> None:
    chooser = make()
    chooser.reward(chooser.choose(CONTEXT), quality=0.9, cost=0.01)
    text = str(chooser.summary())
    assert "outside" not in text
    assert "otherwise" not in text


def test_what_may_surprise_is_said_in_a_sentence(make: Make) -> None:
    """An objective and an arm without rewards, and a tolerance that all rewards lie within."""
    chooser = make()
    for _ in range(40):
        chooser.reward(chooser.choose(CONTEXT), cost=0.01)
    (note,) = chooser.summary().notes
    assert says(note, "quality was never rewarded")
    assert note in str(chooser.summary())

    chooser = make()
    for n in range(90):
        decision = chooser.choose(CONTEXT, allowed=[["small", "medium", "large"][n % 3]])
        if decision.arm != "large":
            chooser.reward(decision, quality=n % 2, cost=0.01)
    (note,) = chooser.summary().notes
    assert says(note, "never came for large (30 decisions)")

    objectives = [lb.Objective("quality", tolerance=0.3), lb.Objective("cost", goal="min")]
    chooser = make(objectives=objectives)
    for n in range(60):
        decision = chooser.choose(CONTEXT, allowed=[["small", "medium", "large"][n % 3]])
        chooser.reward(decision, quality=0.8 + 0.02 * (n % 5), cost=0.01)
    (note,) = chooser.summary().notes
    assert says(note, "quality", "within its tolerance, 0.3", "cost decides")


def graded(make: Make, plays: dict[str, int], every: dict[str, int]) -> Summary:
    """Return the summary when costs always came, and quality once in `every` plays; 0: never."""
    chooser = make()
    for arm, count in plays.items():
        for n in range(count):
            decision = chooser.choose(CONTEXT, allowed=[arm])
            chooser.reward(decision, cost=0.01)
            if every[arm] and n % every[arm] == 0:
                chooser.reward(decision, quality=n % 4 / 4)
    return chooser.summary()


def test_an_arm_that_is_never_rewarded_in_one_objective_is_named(make: Make) -> None:
    """It crashes before it is graded: the average is of the few plays of the others."""
    plays = {"small": 1200, "medium": 5, "large": 4}
    summary = graded(make, plays, {"small": 0, "medium": 1, "large": 1})
    (note,) = summary.notes
    assert says(note, "quality was never told for small (1,200 plays)", "other arms had 9 rewards")
    assert note in str(summary)
    (line,) = (line for line in str(summary).splitlines() if line.startswith("quality  on"))
    assert line.endswith("), from 9 rewards")
    assert "from 1,209 rewards" not in str(summary)


def test_an_arm_that_may_be_ungraded_by_chance_is_not_named(make: Make) -> None:
    """With 29 plays; and where one in twenty is graded, with 60, of which 3 would have been."""
    for plays, every in ((29, 1), (60, 20)):
        times = {"small": 0, "medium": every, "large": every}
        assert graded(make, {"small": plays, "medium": 200, "large": 200}, times).notes == ()
    (note,) = graded(make, {"small": 120, "medium": 200, "large": 200}, times).notes
    assert says(note, "small (120 plays)")


def test_nothing_surprises_at_first_or_as_usual(make: Make) -> None:
    chooser = make()
    assert chooser.summary().notes == ()
    for n in range(60):
        decision = chooser.choose(CONTEXT)
        chooser.reward(decision, quality=n % 4 / 4, cost=0.01)
    assert chooser.summary().notes == ()
