"""What a newcomer does without thinking: pickle, copy, fork, booleans, misspelt names."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import lexbandit as lb
from chooser.beliefs import Beliefs
from chooser.conftest import CONTEXT
from lexbandit.chooser import RecordingChooser
from lexbandit.decisions import PolicyDecision
from lexbandit.policies import Policy

Make = Callable[..., RecordingChooser]

# Quick without compiled kernels too.
QUICK: dict[str, Any] = {"policy": "lex-tree", "explore": 0.5}


def use(chooser: lb.Chooser, n: int) -> list[str]:
    decisions = [chooser.choose(CONTEXT) for _ in range(n)]
    for decision in decisions:
        chooser.reward(decision, quality=0.5, cost=0.01)
    return [decision.arm for decision in decisions]


@pytest.mark.parametrize("copied", [lambda c: pickle.loads(pickle.dumps(c)), copy.deepcopy])
def test_pickle_and_copies_go_through_the_saved_format(make: Make, copied: Any) -> None:
    chooser = make(**QUICK)
    use(chooser, 20)
    waiting = chooser.choose(CONTEXT)
    again = copied(chooser)
    assert type(again) is RecordingChooser
    assert again.digest() == chooser.digest()
    again.reward(waiting, quality=0.5)
    assert use(again, 20) == use(chooser, 20)  # the same random state
    assert chooser.choose(CONTEXT).id != again.choose(CONTEXT).id
    with pytest.raises(lb.InvalidInput, match="share a past"):
        chooser.merge(again)


def test_a_copy_has_a_policy_object_of_its_own(make: Make) -> None:
    policy = lb.make_policy("lex-tree", arms=3, dimension=3, objectives=2, tolerance=[0.02, 0])
    chooser = make(policy=policy)
    use(chooser, 5)
    for again in (copy.copy(chooser), copy.deepcopy(chooser), pickle.loads(pickle.dumps(chooser))):
        assert again.policy is not policy
        assert again.digest() == chooser.digest()


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform"
)
@pytest.mark.parametrize("explore", [0.5, 0.0])  # its own draws, and those of its policy
def test_after_a_fork_ids_and_draws_differ(make: Make, explore: float) -> None:
    chooser = make(**{**QUICK, "explore": explore})
    receive, send = multiprocessing.get_context("fork").Pipe(duplex=False)

    def child() -> None:
        decisions = [chooser.choose(CONTEXT) for _ in range(60)]
        send.send([tuple(decision) for decision in decisions])

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    assert receive.poll(60)
    theirs = receive.recv()
    process.join(60)
    mine = [chooser.choose(CONTEXT) for _ in range(60)]
    assert not {id for id, _, _ in theirs} & {decision.id for decision in mine}
    # 60 draws of three unknown arms are equal by chance with probability < 1e-10.
    assert [arm for _, arm, _ in theirs] != [decision.arm for decision in mine]
    with pytest.raises(lb.UnknownDecision):
        chooser.reward(theirs[0][0], quality=0.5)


def test_a_child_does_not_inherit_a_held_lock(make: Make) -> None:
    chooser = make(**QUICK)
    with chooser._lock:  # the forking thread may hold it itself
        process = multiprocessing.get_context("fork").Process(target=use, args=(chooser, 1))
        process.start()
    process.join(60)
    assert process.exitcode == 0


@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_booleans_are_rewards_of_0_and_1(make: Make, kind: Any) -> None:
    one, other = make(**QUICK), make(**QUICK)
    for value in (True, False, True):
        for chooser, given in ((one, kind(value)), (other, float(value))):
            chooser.reward(chooser.choose(CONTEXT), quality=given)
    assert one.summary().received == other.summary().received
    decisions = one.choose_many({name: [value] * 2 for name, value in CONTEXT.items()})
    one.reward_many(decisions, {"quality": np.array([True, False])})
    decisions = one.choose_many({name: [value] * 2 for name, value in CONTEXT.items()})
    one.reward_many(decisions, {"quality": [kind(True), None]})
    assert one.summary().received["quality"].count == 6
    assert one.summary().received["quality"].value == pytest.approx(4 / 6)


def test_a_log_may_have_propensities(make: Make) -> None:
    log = {name: [value] * 2 for name, value in CONTEXT.items()}
    log |= {"arm": ["small", "large"], "quality": [True, False], "propensity": [0.5, 0.25]}
    assert make(**QUICK).learn(log) == 2


@pytest.mark.parametrize(
    ("make_it", "meant"),
    [
        (lambda: lb.Objective("quality", tolerence=0.1), "tolerance"),  # type: ignore[call-arg]
        (lambda: lb.Objective("quality", ranges=(0, 1)), "range"),  # type: ignore[call-arg]
        (lambda: lb.Number("tokens", hihg=3), "high"),  # type: ignore[call-arg]
        (lambda: lb.Category("task", value=["a"]), "values"),  # type: ignore[call-arg]
    ],
)
def test_a_misspelt_keyword_gets_the_nearest_name(make_it: Any, meant: str) -> None:
    with pytest.raises(lb.UnknownName, match=f"did you mean '{meant}'"):
        make_it()


@pytest.mark.parametrize(
    "call",
    [
        lambda name: lb.Chooser(objectives=lb.Objective("q"), arms=["b", name]),
        lambda name: lb.Chooser(objectives=lb.Objective("q"), arms=["b"]).add_arm(name),
        lb.Objective,
        lb.Number,
        lambda name: lb.Category("task", ["code", name]),
    ],
    ids=["arm", "new arm", "objective", "feature", "category"],
)
@pytest.mark.parametrize("name", [" small", "small ", "small\n", "\tsmall"])
def test_a_space_at_an_end_of_a_name_is_refused_with_the_reason(call: Any, name: str) -> None:
    with pytest.raises(lb.InvalidInput, match=r"a space at an end: .* from 'small', so leave"):
        call(name)


def test_a_chooser_has_at_most_22_public_names() -> None:
    made = lb.Chooser(objectives=lb.Objective("quality"), arms=["a", "b"])
    assert len([name for name in dir(made) if not name.startswith("_")]) <= 22


def test_summaries_and_explanations_show_themselves_in_notebooks() -> None:
    chooser = lb.Chooser(
        objectives=[lb.Objective("<quality>"), lb.Objective("cost", goal="min")],
        arms=["a & b", "c"],
        policy="moc-mab",
        horizon=100,
    )
    for pages in (chooser.summary()._repr_html_(), chooser.outlook()._repr_html_()):
        ElementTree.fromstring(f"<div>{pages}</div>")
    for _ in range(9):
        chooser.reward(chooser.choose(), {"<quality>": 1.0, "cost": 0.5})
    page = chooser.summary()._repr_html_()
    root = ElementTree.fromstring(f"<div>{page}</div>")
    assert len(root.findall("table")) == 2
    cells = [cell.text for cell in root.iter("td")]
    assert {"a & b", "c", "<quality>", "cost"} <= set(cells)
    assert "color" not in page  # the page's own colours, light or dark
    assert chooser.explain()._repr_svg_().startswith("<svg")


class Tolerant(Beliefs):
    """A policy of one's own that reads tolerances: it says so by `read_tolerances`."""

    @property
    def read_tolerances(self) -> np.ndarray:
        return np.array([0.1, 0.0])


@pytest.mark.parametrize(("kind", "warned"), [(Beliefs, True), (Tolerant, False)])
def test_a_policy_of_ones_own_can_say_that_it_reads_tolerances(
    kind: type[Beliefs], warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    lb.Chooser(
        objectives=[lb.Objective("quality", tolerance=0.1), lb.Objective("cost")],
        arms=["a", "b", "c"],
        context=[lb.Number("x")],
        policy=kind(arms=3, noise=(0.3, 0.3), seed=5),
    )
    assert ("does not read the objectives' tolerances" in caplog.text) == warned


class Two(Policy):
    """A policy of one's own with the two methods that it must have."""

    def select(self, context: Any, allowed: Any = None) -> PolicyDecision:
        return PolicyDecision(1, 1.0)

    def update(self, context: Any, arm: int, rewards: Any, allowed: Any = None) -> None:
        self.told = arm, list(rewards)


def test_a_policy_of_ones_own_needs_two_methods() -> None:
    """What needs another one says which; docs/studies.md plays such a policy."""
    policy = Two(arms=2, dimension=1, objectives=1)
    chooser = lb.Chooser(
        objectives=lb.Objective("quality"), arms=["a", "b"], context=[lb.Number("x")], policy=policy
    )
    decision = chooser.choose({"x": 0.5})
    chooser.reward(decision, quality=0.7)
    assert policy.told == (1, [0.7])
    asked: list[tuple[str, Callable[[], Any]]] = [
        ("explain", lambda: chooser.explain({"x": 0.5})),
        ("explain", lambda: chooser.propensities({"x": 0.5})),
        ("state", chooser.to_bytes),
        ("load_state", lambda: policy.load_state({})),
        ("add_arm", lambda: chooser.add_arm("c")),
    ]
    for method, call in asked:
        with pytest.raises(lb.InvalidInput, match=f"policy Two has no method {method}, which is"):
            call()
