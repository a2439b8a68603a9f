"""What a chooser is made with besides objectives, arms and context; and a policy of its own."""

import gc
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT
from lexbandit.chooser import RecordingChooser
from lexbandit.chooser.saving import arguments_of
from lexbandit.policies.registry import parameters_of
from support import make as make_policy

Make = Callable[..., RecordingChooser]
SHAPE = {"arms": 3, "dimension": 6, "objectives": 2}


@pytest.mark.parametrize("policy", [None, "moc-mab", "linucb"])
def test_a_tolerance_belongs_to_an_objective(make: Make, policy: str | None) -> None:
    with pytest.raises(lb.InvalidInput, match=r"give it to Objective\(\.\.\.\).*tolerance=0\.4"):
        make(policy=policy, horizon=1000, tolerance=0.4)


@pytest.mark.parametrize("name", ["lex-linucb", "doubling"])
def test_a_policy_with_other_tolerances_than_the_objectives_is_refused(
    make: Make, name: str
) -> None:
    own = {"policy": "moc-mab"} if name == "doubling" else {}
    for theirs in (0.4, [0.02, 0.1], 0.0):
        policy = lb.make_policy(name, tolerance=theirs, **own, **SHAPE)
        with pytest.raises(lb.InvalidInput) as error:
            make(policy=policy)
        assert "the objectives have quality 0.02, cost 0" in str(error.value)
        assert "make the policy with tolerance=[0.02, 0]" in str(error.value)
    assert "a tolerance of quality 0, cost 0" in str(error.value)


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("explor", "explore"),
        ("kep", "keep"),
        ("waits", "wait"),
        ("polcy", "policy"),
        ("clok", "clock"),
        ("contexts", "context"),
        ("horizn", "horizon"),
        ("cauton", "caution"),
        ("drawwidth", "draw_width"),
    ],
)
def test_a_misspelt_argument_is_recognised(make: Make, misspelt: str, meant: str) -> None:
    with pytest.raises(lb.UnknownName) as error:
        make(**{misspelt: 1})
    text = str(error.value)
    assert text.startswith(f"unknown argument {misspelt!r} of Chooser; did you mean {meant!r}?")
    assert (
        "Known: objectives, arms, context, policy, explore, wait, keep, horizon, seed, clock"
        in (text)
    )
    assert "caution" in text


def test_an_unknown_argument_shows_what_its_policy_takes(make: Make) -> None:
    """Nothing that other policies take; a dict of settings is to be passed by name."""
    with pytest.raises(lb.UnknownName) as error:
        make(settings={"caution": 4, "draw_width": 0.5})
    text = str(error.value)
    assert "'settings' of Chooser: pass its entries by name" in text
    assert "Chooser(..., caution=4, draw_width=0.5). Known:" in text
    taken = text.partition("and of the policy 'lex-thompson': ")[2].rstrip(".").split(", ")
    assert {"caution", "draw_width"} <= set(taken) <= set(parameters_of("lex-thompson"))


def test_a_misspelt_argument_beside_a_policy_object_too(make: Make) -> None:
    policy = lb.make_policy("lex-linucb", tolerance=[0.02, 0], **SHAPE)
    with pytest.raises(lb.InvalidInput, match=r"kep=1: settings are for .* did you mean 'keep'"):
        make(policy=policy, kep=1)
    with pytest.raises(lb.InvalidInput, match="scale=1: settings are for a policy by name"):
        make(policy=policy, scale=1)


def test_names_that_the_chooser_gives_itself(make: Make) -> None:
    with pytest.raises(lb.InvalidInput, match="dimension follows from the features"):
        make(dimension=3)
    with pytest.raises(lb.UnknownName, match="unknown argument 'name'"):
        make(name="it")
    with pytest.raises(lb.UnknownName, match="unknown policy 'lex-linuc'"):
        make(policy="lex-linuc", dimension=3)


@pytest.mark.parametrize("name", ["doubling", "projected"])
def test_a_wrapper_is_given_made(make: Make, name: str) -> None:
    with pytest.raises(lb.InvalidInput, match=r"wraps another.*policy=lexbandit.make_policy"):
        make(policy=name, horizon=100)


def test_other_kinds_of_numbers_are_settings_too(make: Make) -> None:
    chooser = make(caution=Decimal("0.25"), draw_width=Fraction(1, 2))
    plain = make(caution=0.25, draw_width=0.5)
    assert chooser.digest() == plain.digest()
    again = RecordingChooser.from_bytes(chooser.to_bytes())
    assert again.policy.caution == 0.25  # type: ignore[attr-defined]
    assert make(policy="cs-ucb1", horizon=9, weights=[(Decimal("0.5"), Decimal("0.5"))]).digest()
    with pytest.raises(lb.InvalidInput, match="caution"):
        make(caution=Decimal("NaN"))


def test_the_default_is_the_policy_of_its_name(make: Make) -> None:
    """What is left out and what is named are the same, to the last bit."""
    default, named = make(), make(policy="lex-thompson")
    for n in range(200):
        context = {**CONTEXT, "tokens": 40 * n}
        one, other = default.choose(context), named.choose(context)
        assert (one.arm, one.propensity) == (other.arm, other.propensity)
        for chooser, decision in ((default, one), (named, other)):
            chooser.reward(decision, quality=0.5 + 0.001 * n, cost=0.01)
    assert default.policy.name == named.policy.name == "lex-thompson"
    states = default.policy.state(), named.policy.state()
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])
    fresh = make(), make(policy="lex-thompson")
    assert fresh[0].digest() == fresh[1].digest()


def test_what_cannot_be_hashed_says_so(make: Make) -> None:
    from lexbandit.bounds import make_bound

    bound = make_bound("holder", arms=3, objectives=2, cells=10, horizon=100)
    chooser = make(policy="moc-mab", horizon=100, bound=bound)
    with pytest.raises(lb.InvalidInput, match=r"cannot be hashed.*plain numbers, texts and lists"):
        chooser.digest()


@pytest.mark.parametrize("policy", ["moc-mab", "lex-linucb", "pf-lex"])
def test_a_horizon_is_a_number_that_can_be_computed_with(make: Make, policy: str) -> None:
    with pytest.raises(lb.InvalidInput, match="horizon must be a whole number"):
        make(policy=policy, horizon=10**400)


def test_every_chooser_has_a_policy_of_its_own() -> None:
    def chooser(policy: Any) -> RecordingChooser:
        return RecordingChooser(
            objectives=[lb.Objective("quality"), lb.Objective("cost", goal="min")],
            arms=["small", "medium", "large", "huge"],
            context=[lb.Number("load"), lb.Number("size")],
            policy=policy,
        )

    policy = make_policy("moc-mab")
    with pytest.raises(lb.InvalidInput, match="objective"):
        RecordingChooser(objectives=[], arms=["a"], policy=policy)
    one = chooser(policy)
    for taken in (policy, one.policy):
        with pytest.raises(lb.InvalidInput, match="another chooser's already"):
            chooser(taken)
    data = one.to_bytes()
    with pytest.raises(lb.InvalidInput, match="another chooser's already"):
        RecordingChooser.from_bytes(data, policy=policy)
    one.reward(one.choose({"load": 0.5, "size": 0.5}), quality=0.5)
    del one
    gc.collect()
    assert chooser(policy).summary().plays  # the first is no more
    assert RecordingChooser.from_bytes(data, policy=make_policy("moc-mab")).waiting == 0


def test_two_choosers_by_name_are_apart(make: Make) -> None:
    one, other = make(), make()
    one.reward(one.choose(CONTEXT), quality=0.5)
    with pytest.raises(lb.InvalidInput, match="another chooser's already"):
        make(policy=one.policy)
    assert sum(other.summary().plays.values()) == 0


def test_a_former_name_of_a_setting_is_taken_with_a_warning_at_its_line(make: Make) -> None:
    with pytest.warns(DeprecationWarning, match="is called draw_width now") as told:
        lb.Chooser(objectives=lb.Objective("quality"), arms=["a", "b"], exploration=0.5)
    assert [each.filename for each in told] == [__file__]
    with pytest.warns(DeprecationWarning, match="exploration of lex-linucb is called width_factor"):
        policy = lb.make_policy("lex-linucb", exploration=0.2, **SHAPE)
    assert policy.width_factor == 0.2  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="draw_width"):
        former = make(exploration=0.5)
    assert former.digest() == make(draw_width=0.5).digest()
    with pytest.raises(lb.InvalidInput, match=r"former name of draw_width: give .* one of the two"):
        make(exploration=0.5, draw_width=0.5)
    with pytest.raises(lb.UnknownName, match="unknown argument 'exploration'"):
        make(policy="linucb", exploration=0.5)


def test_a_file_with_a_former_name_of_a_setting_loads_without_a_word(make: Make) -> None:
    now = make(draw_width=0.5)
    values = arguments_of({**now._definition(), "settings": {"exploration": 0.5}}, None)
    assert values["draw_width"] == 0.5
    assert "exploration" not in values


def test_other_tolerances_are_one_for_each_objective(make: Make) -> None:
    chooser = make()
    chooser.set_tolerances([0.1, 0.0])
    assert [objective.tolerance for objective in chooser.objectives] == [0.1, 0.0]
    for wrong in ([0.1], [0.1, 0.0, 0.0], 0.1, None, "ab"):
        with pytest.raises(lb.InvalidInput, match=r"one tolerance for each objective \(quality"):
            chooser.set_tolerances(wrong)  # type: ignore[arg-type]
    with pytest.raises(lb.InvalidInput, match="tolerance of objective 'quality' must be"):
        chooser.set_tolerances([-1.0, 0.0])
    assert [objective.tolerance for objective in chooser.objectives] == [0.1, 0.0]
