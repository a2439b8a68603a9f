"""Explanations: an object, a text, a picture."""

import logging
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT
from lexbandit._internal import svg
from lexbandit.chooser import RecordingChooser
from lexbandit.chooser.explanation import Estimate, short_probability
from lexbandit.chooser.reasons import explain
from lexbandit.decisions import ArmReport, Level, PolicyExplanation
from support import says

Make = Callable[..., RecordingChooser]

QUALITY = {"small": 0.70, "medium": 0.92, "large": 0.93}
COST = {"small": 0.001, "medium": 0.004, "large": 0.03}


def taught(make: Make, n: int = 900, **settings: Any) -> RecordingChooser:
    """Medium is as good as large within 0.02, and much cheaper; small is worse."""
    chooser = make(**settings)
    for k in range(n):
        arm = ("small", "medium", "large")[k % 3]
        decision = chooser.choose(CONTEXT, [arm])
        chooser.reward(decision, quality=QUALITY[arm], cost=COST[arm])
    return chooser


def test_the_object_has_the_users_units(make: Make) -> None:
    told = taught(make).explain(CONTEXT)
    assert [arm.name for arm in told.arms] == ["small", "medium", "large"]
    for arm in told.arms:
        assert arm.plays == 300
        for name, truth in (("quality", QUALITY), ("cost", COST)):
            estimate = arm.estimates[name]
            assert estimate.observations == 300
            assert estimate.value == pytest.approx(truth[arm.name], abs=0.01)
            assert estimate.low is not None
            assert estimate.high is not None
            assert estimate.low <= estimate.value <= estimate.high  # type: ignore[operator]
    assert told.likely == ("medium",)


def test_it_says_why(make: Make) -> None:
    told = taught(make).explain(CONTEXT)
    small, medium, large = told.arms
    assert (small.as_good, medium.as_good, large.as_good) == (False, True, True)
    assert says(small.why, "ithin 0.02 of the best in quality", "less than 0.01")
    assert says(medium.why, "ithin 0.02 of the best in quality", "more than 0.99", "leads in cost")
    assert large.why.startswith("Leads in quality, within 0.02 of the best with probability")
    assert re.fullmatch(
        r"quality: large leads with 0\.93\d* \(.*\); medium is within 0\.02 of the best with "
        r"probability more than 0\.99 and small with less than 0\.01\. cost decides between medium "
        r"and large: medium leads with 0\.004\d* \(.*\)\. medium is chosen with probability more "
        r"than 0\.99\. By the model, the chosen arm is within the tolerance with probability more "
        r"than 0\.99\.",
        told.reason,
    )


def test_what_is_uncertain_is_said_with_its_probability(make: Make) -> None:
    chooser = make()
    for n in range(90):
        arm = ("small", "medium", "large")[n % 3]
        decision = chooser.choose(CONTEXT, [arm])
        noise = 0.1 if n % 2 else -0.1
        chooser.reward(decision, quality=QUALITY[arm] - 0.2 + noise, cost=COST[arm])
    told = chooser.explain(CONTEXT)
    for one in told.arms[1:]:
        assert one.within is not None
        assert 0.1 < one.within < 0.99
        assert f"probability {one.within:.2f}" in one.why
    assert told.confidence == pytest.approx(
        sum(arm.propensity * (arm.within or 0.0) for arm in told.arms)
    )
    assert chooser.explain(CONTEXT).confidence == told.confidence
    said = "By the model, the chosen arm is within the tolerance with probability"
    assert f"{said} {told.confidence:.2f}." in told.reason


def test_it_says_why_another_arm_may_be_chosen(make: Make) -> None:
    chooser = make()
    for n in range(12):
        arm = ("small", "medium", "large")[n % 3]
        level = {"small": 0.5, "medium": 0.6, "large": 0.6}[arm]
        rewards = {"quality": level + (0.2 if n % 2 else -0.2), "cost": 0.01 + 0.01 * (n % 4)}
        chooser.reward(chooser.choose(CONTEXT, [arm]), rewards)
    reason = chooser.explain(CONTEXT).reason
    assert re.search(r"\w+ is chosen with probability 0\.\d\d; \w+, which may be", reason)


def test_only_equal_chances_are_said_of_all_arms_together(make: Make) -> None:
    explanation = taught(make, 40).explain(CONTEXT)
    reports = tuple(
        ArmReport(
            arm=arm,
            allowed=True,
            plays=13,
            observations=(13, 13),
            mean=(0.5, 0.5),
            width=(0.1, 0.1),
            index=(0.6, 0.6),
            candidate=True,
            propensity=chance,
            near=(9.0, 9.0),
            within=(0.5,),
        )
        for arm, chance in enumerate((0.38, 0.33, 0.29))
    )
    standing = (Level(0, (0, 1, 2)),)
    found = PolicyExplanation("lex-thompson", None, reports, "", level=0.95, standing=standing)
    names, objectives = [arm.name for arm in explanation.arms], explanation.objectives
    said = explain(found, names, [13] * 3, np.ones(3, np.bool_), objectives, 0.0).reason
    assert "small is chosen with probability 0.38; medium," in said
    assert "Each of the 3 arms" not in said


def test_policies_without_credible_intervals_say_no_probabilities(make: Make) -> None:
    chooser = taught(make, policy="lex-linucb", threshold=0.5)
    told = chooser.explain(CONTEXT)
    small, medium, large = told.arms
    assert (told.level, told.confidence) == (None, None)
    assert [arm.within for arm in told.arms] == [None] * 3
    assert (small.as_good, medium.as_good, large.as_good) == (False, True, True)
    assert says(small.why, "Behind in quality", "not as good as large within 0.02")
    assert says(medium.why, "As good as the best in quality", "cost decides")
    assert told.reason.startswith("quality: large leads with 0.93")
    assert "medium may be as good, within the tolerance of 0.02" in told.reason
    assert told.reason.endswith("Of these, medium is most promising in cost.")
    assert "credible" not in str(told)
    assert str(told).splitlines()[0].split()[-3:] == ["as", "good", "probability"]


def test_one_arm_is_not_these(make: Make) -> None:
    """Nothing is said to hold "of these" where only one arm is left."""
    for policy in (None, "lex-linucb"):
        chooser = make(policy=policy)
        for n in range(900):
            arm = ("small", "medium", "large")[n % 3]
            good = float(arm == "large")
            chooser.reward(chooser.choose(CONTEXT, [arm]), quality=good, cost=0.01)
        reason = chooser.explain(CONTEXT).reason
        assert "Of these" not in reason
        if policy is None:
            assert "By the estimates only large is as good." in reason
        else:
            assert reason.endswith("no other is as good. So large is chosen.")


def test_what_it_says_before_anything_is_known(make: Make) -> None:
    told = make(explore=0.1).explain(CONTEXT)
    assert all(arm.estimates["quality"].value is None for arm in told.arms)
    assert told.reason.startswith(
        "quality: nothing is known of the arms yet. Each of the 3 arms is chosen with probability "
        "0.333. One in 10 choices"
    )
    assert "not observed" in str(told)
    assert "credible" not in str(told)
    careful = make(policy="lex-linucb").explain(CONTEXT)
    assert "nothing is known of small, medium and large here yet, so one of them is tried" in (
        careful.reason
    )


def test_an_arm_may_be_better_in_what_was_never_rewarded(make: Make) -> None:
    """The costs are known, so an arm that is dearer is chosen for its quality."""
    chooser = make()
    for n in range(90):
        arm = ("small", "medium", "large")[n % 3]
        chooser.reward(chooser.choose(CONTEXT, [arm]), cost=COST[arm])
    reason = chooser.explain(CONTEXT).reason
    assert "medium, which may be better in quality, with 0." in reason
    assert "better in cost" not in reason


@pytest.mark.parametrize("policy", ["lex-linucb", "random"])
def test_no_choice_is_not_called_the_best(make: Make, policy: str) -> None:
    objectives = [lb.Objective("quality"), lb.Objective("cost", goal="min", range=(0, 0.05))]
    chooser = make(policy=policy, objectives=objectives, explore=0.1)
    told = chooser.explain(CONTEXT, ["small"])
    assert says(told.reason, "small is the only arm", "nothing is known of it yet")
    assert "best" not in told.reason
    assert says(told.arms[0].why, "only arm")
    assert says(told.arms[1].why, "not allowed")
    if policy == "lex-linucb":
        chooser.reward(chooser.choose(CONTEXT, ["small"]), quality=0.5)
        reason = chooser.explain(CONTEXT, ["small"]).reason
        assert reason == "small is the only arm that can be chosen here."


def test_what_decides_alone_is_said_plainly(make: Make) -> None:
    told = make(policy="lex-linucb").explain(CONTEXT)
    assert told.arms[0].why == "quality alone decides here."


def test_what_it_says_of_one_that_is_not_known(make: Make) -> None:
    chooser = taught(make)
    chooser.add_arm("new")
    assert says(chooser.explain(CONTEXT).reason, "medium", "new, of which nothing is known yet")
    chooser = taught(make, policy="lex-linucb", threshold=0.5)
    chooser.add_arm("new")
    assert "new may be the best and nothing is known of it here yet, so it is tried; cost does" in (
        chooser.explain(CONTEXT).reason
    )


def test_an_estimate_far_from_data_says_so(make: Make) -> None:
    chooser = make()
    for _ in range(100):
        for arm in ("medium", "large"):
            decision = chooser.choose({**CONTEXT, "tokens": 100}, [arm])
            chooser.reward(decision, quality=QUALITY[arm], cost=COST[arm])
    near = chooser.explain({**CONTEXT, "tokens": 100})
    assert "little data" not in near.reason
    far = chooser.explain({"tokens": 8000, "task": "maths", "hour": 2.0})
    assert (
        "There is little data of medium and large near this context: their estimates are mostly "
        "what the arms have in common."
    ) in far.reason
    assert far.arms[1].why.endswith(
        "There is little data of medium near this context: its estimates are mostly what the arms "
        "have in common."
    )
    assert "little data" not in far.arms[0].why  # it was never played: "not observed"


def test_ten_successes_have_an_interval() -> None:
    chooser = RecordingChooser(
        objectives=[lb.Objective("click"), lb.Objective("cost")], arms=["a", "b"]
    )
    for _ in range(10):
        chooser.reward(chooser.choose(allowed=["a"]), click=1.0, cost=0.5)
    estimate = chooser.explain().arms[0].estimates["click"]
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.value > 0.9
    assert 0.6 < estimate.low < 0.8  # Wilson's is 0.72
    assert estimate.high == 1.0
    assert str(estimate).startswith(("0.9", "1.0"))


def test_estimates_are_printed_with_two_digits_of_their_intervals() -> None:
    told = [
        (Estimate(0.9123, 0.9023, 0.9223, 9), "0.912 (0.902 to 0.922)"),
        (Estimate(1234.5, 1100.2, 1300.9, 9), "1234 (1100 to 1301)"),
        (Estimate(0.9, 0.8999999, 0.9000001, 9), "0.9 (± 1e-07)"),
        (Estimate(0.0, 0.0, 0.0, 9), "0 (0 to 0)"),
        (Estimate(3e-9, 1e-9, 5e-9, 9), "3e-09 (1e-09 to 5e-09)"),
        (Estimate(None, None, None, 0), "not observed"),
        (Estimate(0.5, 0.25, 0.75, 0), "0.50 (0.25 to 0.75), by its prior"),
    ]
    assert [str(estimate) for estimate, _ in told] == [text for _, text in told]


@pytest.mark.parametrize(
    ("chance", "text"),
    [(0.0, "<0.01"), (0.004, "<0.01"), (0.5, "0.50"), (0.99, "0.99"), (1.0, ">0.99")],
)
def test_probabilities_are_never_said_to_be_certain(chance: float, text: str) -> None:
    assert short_probability(chance) == text


def test_one_objective_names_the_best(make: Make) -> None:
    chooser = make(objectives=lb.Objective("quality"))
    for n in range(30):
        arm = ("small", "medium", "large")[n % 3]
        chooser.reward(chooser.choose(CONTEXT, [arm]), quality=QUALITY[arm])
    told = chooser.explain(CONTEXT)
    assert "is the best with probability" in told.reason
    assert told.reason.startswith("quality: large leads with")
    assert "tolerance" not in told.reason


def test_three_objectives_are_told_in_order(make: Make) -> None:
    objectives = [
        lb.Objective("quality", tolerance=0.05),
        lb.Objective("speed", tolerance=0.1),
        lb.Objective("cost", goal="min"),
    ]
    chooser = make(objectives=objectives)
    level = {"small": (0.5, 0.9, 0.1), "medium": (0.9, 0.85, 0.3), "large": (0.92, 0.9, 0.8)}
    for n in range(300):
        arm = ("small", "medium", "large")[n % 3]
        quality, speed, cost = level[arm]
        chooser.reward(chooser.choose(CONTEXT, [arm]), quality=quality, speed=speed, cost=cost)
    told = chooser.explain(CONTEXT)
    assert told.reason.index("quality: large leads") < told.reason.index("speed: large leads")
    quick, _, cheap = told.reason.partition("speed: ")[2].partition("cost decides between ")
    assert cheap.startswith("medium and large: medium leads with")
    assert "medium is within 0.1 of the best" in quick
    assert "small" not in quick  # as fast as the leader, and out by its quality
    assert told.likely[0] == "medium"
    assert told.arms[0].within == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("policy", ["lex-linucb", "moc-mab"])
def test_a_prior_is_said_to_be_one(make: Make, policy: str) -> None:
    chooser = make(policy=policy, horizon=1000)
    chooser.add_arm("new", prior={"quality": 0.9, "cost": 0.01}, weight=30)
    told = chooser.explain(CONTEXT)
    estimate = told.arms[3].estimates["quality"]
    assert estimate.value == pytest.approx(0.9, abs=0.01)
    assert estimate.observations == 0
    line = str(told).splitlines()[4]
    assert line.startswith("new")
    assert line.count("by its prior") == 2
    assert "not observed" not in line
    chooser.reward(chooser.choose(CONTEXT, ["new"]), quality=0.9)
    assert str(chooser.explain(CONTEXT)).splitlines()[4].count("by its prior") == 1


@pytest.mark.parametrize("policy", ["linucb", "random", "cd-ucb1"])
def test_a_tolerance_that_nobody_reads_is_said(
    make: Make, policy: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "lexbandit"):
        make(policy=policy, horizon=1000)
    assert f"{policy!r} does not read the objectives' tolerances (quality 0.02)" in caplog.text


def test_a_tolerance_that_is_read_or_absent_is_not_said(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    objectives = [lb.Objective("quality"), lb.Objective("cost", goal="min", range=(0, 0.05))]
    given = {"arms": 3, "dimension": 6, "objectives": 2}
    with caplog.at_level(logging.WARNING, "lexbandit"):
        for policy in (None, "moc-mab", "staged-lex", "lex-tree", "lex-thompson"):
            make(policy=policy, horizon=1000)
        make(policy="linucb", objectives=objectives)
        make(policy=lb.make_policy("lex-linucb", tolerance=[0.02, 0], **given))
        make(policy=lb.make_policy("linucb", **given), objectives=objectives)
    assert not caplog.records
    with caplog.at_level(logging.WARNING, "lexbandit"):
        make(policy=lb.make_policy("linucb", **given))
    assert "does not read the objectives' tolerances" in caplog.text


def test_what_is_not_allowed_is_said(make: Make) -> None:
    chooser = taught(make)
    chooser.retire_arm("small")
    small, medium, large = chooser.explain(CONTEXT, allowed=["large"]).arms
    assert (small.why, medium.why) == ("It is retired.", "It is not allowed here.")
    assert (small.propensity, medium.propensity, large.propensity) == (0.0, 0.0, 1.0)
    text = str(chooser.explain(CONTEXT, allowed=["large"]))
    assert "retired" in text
    assert "not allowed" in text


def test_the_text_is_a_table(make: Make) -> None:
    lines = str(taught(make).explain(CONTEXT)).splitlines()
    head = ["arm", "plays", "quality", "cost", "within", "tolerance", "probability"]
    assert lines[0].split() == head
    assert [line.split()[0] for line in lines[1:4]] == ["small", "medium", "large"]
    assert lines[4].startswith("quality: large leads")
    assert lines[5:] == ["Intervals are 95% credible intervals."]


@pytest.mark.parametrize("arm", ["<b>&\"'", "naïve 模型", "line\nbreak", "bell\x07", "]]>"])
def test_the_picture_is_well_formed_and_shows_every_arm(make: Make, arm: str) -> None:
    chooser = make(arms=["plain", arm])
    for _ in range(20):
        chooser.reward(chooser.choose(CONTEXT), quality=0.5)
    told = chooser.explain(CONTEXT)
    root = ET.fromstring(told.svg())
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "plain" in texts
    printable = "".join(c if c.isprintable() else "\ufffd" for c in arm)
    assert printable in texts
    assert "quality (more is better)" in texts
    assert "cost (less is better)" in texts
    assert texts.count("not observed yet") == 2
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 3  # one in the legend
    assert told._repr_svg_() == told.svg()


def test_the_picture_stays_inside_its_panels(make: Make) -> None:
    root = ET.fromstring(taught(make).explain(CONTEXT).svg())
    width = float(root.attrib["width"])
    for line in root.iter("{http://www.w3.org/2000/svg}line"):
        assert 0 <= float(line.attrib["x1"]) <= float(line.attrib["x2"]) <= width


SVG = "{http://www.w3.org/2000/svg}"


def test_the_sentences_of_the_picture_fit_in_a_wide_font(make: Make) -> None:
    """In DejaVu Sans at 12 pixels, the widest of the usual fonts, a letter has 7 on average."""
    root = ET.fromstring(taught(make).explain(CONTEXT).svg())
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    lines = texts[: texts.index("small")]
    assert max(map(len, lines)) * 7 <= int(root.attrib["width"]) - 20


def test_the_picture_says_why_and_what_counts_as_good(make: Make) -> None:
    told = taught(make).explain(CONTEXT)
    root = ET.fromstring(told.svg())
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    rows = texts[: texts.index("small")]
    assert " ".join(rows) == told.reason
    assert len(rows) > 1
    ticks = len(list(root.iter(f"{SVG}path")))
    assert ticks == sum(arm.as_good for arm in told.arms) + 1  # and one in the legend
    assert "counts as good as the best, by the estimates" in texts
    assert "95% credible interval, and the estimate" in texts
    # Besides the background: quality's tolerance, and the legend. Cost is the last one.
    band, legend = list(root.iter(f"{SVG}rect"))[1:]
    axis = list(root.iter(f"{SVG}line"))[len(told.arms)]
    panel = float(axis.attrib["x2"]) - float(axis.attrib["x1"])
    best = max(arm.estimates["quality"].value or 0.0 for arm in told.arms)
    assert float(band.attrib["width"]) == pytest.approx(0.02 * panel, abs=0.1)
    start = float(axis.attrib["x1"]) + (best - 0.02) * panel
    assert float(band.attrib["x"]) == pytest.approx(start, abs=0.1)
    assert legend.attrib["fill"] == band.attrib["fill"]


def test_the_picture_has_no_mark_of_what_does_not_occur(make: Make) -> None:
    chooser = make(objectives=[lb.Objective("quality"), lb.Objective("cost", goal="min")])
    chooser.reward(chooser.choose(CONTEXT), quality=0.5, cost=0.5)
    drawn = chooser.explain(CONTEXT).svg()
    assert drawn.count("<rect") == 1
    assert "tolerance" not in drawn


@pytest.mark.parametrize("letter", ["w", "模"])
def test_long_names_stay_in_their_places(make: Make, letter: str) -> None:
    first, second, arm = (f"{n} {letter * 60}" for n in (1, 2, 3))
    objectives = [lb.Objective(first, tolerance=0.1), lb.Objective(second)]
    told = make(objectives=objectives, arms=[arm, "b"]).explain(CONTEXT)
    root = ET.fromstring(told.svg())
    shortened = {
        element[0].text: element for element in root.iter(f"{SVG}text") if len(element) == 1
    }
    assert set(shortened) == {first, second, arm}  # the whole name is shown by a pointer on it
    ends = {
        name: float(element.attrib["x"]) + 7 * (2 if letter == "模" else 1) * shown.count(letter)
        for name, element in shortened.items()
        if (shown := element[0].tail or "").count("…") == 1
    }
    assert ends[arm] < float(shortened[first].attrib["x"])
    title = 7 * len("1 … (more is better)")
    assert ends[first] + title < float(shortened[second].attrib["x"])
    assert ends[second] + title < float(root.attrib["width"])


def test_a_name_of_any_length_is_cut_at_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Letter by letter from its end, one of 8,000 took seconds."""
    measured = 0

    def wide(words: str) -> int:
        nonlocal measured
        measured += len(words)
        return len(words)

    told = make(arms=["w" * 8_000, "b"]).explain(CONTEXT)
    monkeypatch.setattr(svg, "wide", wide)
    assert f"{'w' * 31}…</text>" in told.svg()
    assert measured < 2_000


def test_estimates_stay_inside_the_range(make: Make) -> None:
    """A regression can reach beyond it; what is told does not."""
    chooser = make()
    for n in range(400):
        context = {**CONTEXT, "tokens": 4000 + 10 * (n % 100)}
        chooser.reward(chooser.choose(context), quality=(n % 100) / 99, cost=0.0)
    for tokens in (0, 2000, 8000):
        for arm in chooser.explain({**CONTEXT, "tokens": tokens}).arms:
            estimate = arm.estimates["quality"]
            if (
                estimate.value is not None
                and estimate.low is not None
                and estimate.high is not None
            ):
                assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


def test_explaining_changes_nothing(make: Make) -> None:
    chooser = make()
    chooser.explain({**CONTEXT, "tokens": 10**9, "task": "poetry"})
    assert chooser.contexts.counts == {"tokens": {}, "task": {}, "hour": {}}
    assert chooser.waiting == 0
    first, second = make(), make()
    first.explain(CONTEXT)
    assert [first.choose(CONTEXT).arm for _ in range(30)] == [
        second.choose(CONTEXT).arm for _ in range(30)
    ]


@pytest.mark.parametrize("policy", ["lex-thompson", "pareto-ts", "cs-ucb1", "random", "lex-tree"])
def test_every_kind_of_policy_explains_itself(make: Make, policy: str) -> None:
    chooser = taught(make, n=90, policy=policy, horizon=1000)
    told = chooser.explain(CONTEXT)
    assert told.reason
    assert told.likely
    ET.fromstring(told.svg())
    assert str(chooser.summary())


def test_one_is_singular(make: Make) -> None:
    chooser = make(arms=["small"])
    assert "1 arm, decisions: 0" in repr(chooser)
    chooser.choose(CONTEXT)
    assert str(chooser.summary()).startswith("1 decision, 1 open for rewards.")
    chooser.choose(CONTEXT)
    assert str(chooser.summary()).startswith("2 decisions, 2 open for rewards.")
    two = chooser.choose_many([CONTEXT, CONTEXT])
    with pytest.raises(lb.InvalidInput, match="there is 1 reward for 2 decisions"):
        chooser.reward_many(two, {"quality": [0.5]})
    with pytest.raises(lb.InvalidInput, match="there are 2 rewards for 1 decision"):
        chooser.reward_many(two.ids[:1], {"quality": [0.5, 0.5]})
