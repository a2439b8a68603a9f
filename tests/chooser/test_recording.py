"""Proposing and recording apart: what is kept is what was recorded, in its order."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT, Clock
from lexbandit.chooser import RecordingChooser
from lexbandit.policies import REGISTRY

Make = Callable[..., RecordingChooser]

SETTINGS: list[dict[str, Any]] = [
    {},
    {"explore": 0.2},
    {"policy": "moc-mab", "horizon": 5000},
    {"policy": "lex-tree"},
    {"policy": "lex-thompson"},
    {"policy": "suplinucb", "horizon": 5000},
    {"policy": "cs-ucb1", "horizon": 5000},  # reads masks, learns the rewards of a decision at once
]


def context(n: int) -> dict[str, Any]:
    """Some are outside their range, unknown or missing."""
    task = ("code", "maths", "poetry", None)[n % 4]
    return {"tokens": 300.0 * n % 9000, "task": task, "hour": 0.7 * n}


def allowed(n: int) -> list[str] | None:
    return ["small", "large"] if n % 5 == 0 else None


def test_a_proposal_leaves_no_trace(make: Make) -> None:
    chooser = make(explore=0.3)
    before = chooser.digest()
    for n in range(20):
        proposal = chooser.propose(context(n), allowed(n))
        assert proposal.arm in (allowed(n) or chooser.arms)
        assert 0 < proposal.propensity <= 1
    chooser.propose_many([context(n) for n in range(20)], [allowed(n) for n in range(20)])
    assert chooser.digest() == before
    assert (chooser.waiting, chooser.summary().decisions) == (0, 0)
    assert not any(chooser.contexts.counts.values())


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_choose_is_propose_and_record(make: Make, settings: dict[str, Any]) -> None:
    one, other = make(**settings), make(**settings)
    for n in range(60):
        decision = one.choose(context(n), allowed(n))
        proposal = other.propose(context(n), allowed(n))
        assert (proposal.arm, proposal.propensity) == (decision.arm, decision.propensity) or (
            math.isnan(decision.propensity) and proposal.arm == decision.arm
        )
        other.record(decision.id, proposal)
        for chooser in (one, other):
            chooser.reward(decision.id, quality=n % 7 / 7)
            if n % 3:
                chooser.reward(decision.id, cost=0.01 * (n % 6))
        if n == 30:
            for chooser in (one, other):
                chooser.retire_arm("medium")
    assert one.digest() == other.digest()


Event = tuple[str, tuple[Any, ...]]


def lived(chooser: RecordingChooser, clock: Clock, n: int) -> list[tuple[float, Event]]:
    """Decide, reward late and in parts; returns the log."""
    log: list[tuple[float, Event]] = []
    random = np.random.default_rng(1)
    open_: list[str] = []
    for k in range(n):
        clock.now += float(random.random())
        proposal = chooser.propose(context(k), allowed(k))
        if k % 20 == 7:  # others retire it and take it back before the decision is recorded
            chooser.retire_arm(proposal.arm)
            log.append((clock.now, ("retire", (proposal.arm,))))
        if k == 33:
            chooser.add_arm("new")
            log.append((clock.now, ("add", ("new",))))
        id = f"id-{k}"
        chooser.record(id, proposal)
        told = (id, proposal.arm, proposal.propensity, context(k), allowed(k))
        log.append((clock.now, ("record", told)))
        if k % 20 == 7:
            chooser.add_arm(proposal.arm)
            log.append((clock.now, ("add", (proposal.arm,))))
        open_.append(id)
        clock.now += float(random.random())
        for objective in ("quality", "cost"):
            id = open_[int(random.integers(len(open_)))]
            rewards = {objective: float(random.random()) * 0.06}
            try:
                chooser.reward(id, rewards)
            except lb.InvalidInput:  # too late, or told before
                continue
            log.append((clock.now, ("reward", (id, rewards))))
    return log


def fold(chooser: RecordingChooser, clock: Clock, event: tuple[float, Event]) -> None:
    """Do what a line of the log says was done."""
    clock.now, (kind, told) = event
    if kind == "record":
        chooser.record(told[0], chooser.proposal(*told[1:]))
    elif kind == "reward":
        chooser.reward(*told)
    else:
        (chooser.retire_arm if kind == "retire" else chooser.add_arm)(*told)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_log_folded_again_leads_to_the_same_state(
    make: Make, settings: dict[str, Any], clock: Clock
) -> None:
    """Bit for bit: with another seed, other ids to come, ticks in between and a smaller room."""
    common: dict[str, Any] = {
        **settings, "keep": 30, "wait": 25, "clock": clock,
        "objectives": [lb.Objective("quality"), lb.Objective("cost", goal="min", default=0.05)],
    }  # fmt: skip
    log = lived(live := make(**common), clock, 80)
    assert live.dropped + live.expired > 10
    end, clock.now = clock.now, 1000.0
    # cs-ucb1 draws while it learns, so there the seed is part of what is folded.
    again = make(**{**common, "seed": 0 if settings.get("policy") == "cs-ucb1" else 5})
    for event in log:
        clock.now = event[0] - 1e-6
        again.tick()
        again.propose(CONTEXT)
        fold(again, clock, event)
    clock.now = end
    live.tick()
    again.tick()
    assert again.digest() == live.digest()
    assert (again.expired, again.dropped, again.defaulted) == (
        live.expired,
        live.dropped,
        live.defaulted,
    )
    again.reward(next(d.id for d in again.decisions() if not d.complete), quality=0.123)
    assert again.digest() != live.digest()


# Those that need no more than a name: the others wrap a policy, or must be told the means.
NAMES = sorted({*REGISTRY.names()} - {"doubling", "oracle", "projected"})


@pytest.mark.parametrize("policy", NAMES)
def test_a_snapshot_and_the_rest_of_the_log_are_the_whole(
    make: Make, policy: str, clock: Clock
) -> None:
    common = {"policy": policy, "horizon": 5000, "keep": 30, "wait": 25, "clock": clock}
    log = lived(live := make(**common), clock, 80)
    end, clock.now = clock.now, 1000.0
    again = make(**common)
    for n, event in enumerate(log):
        if n % 40 == 20:
            again = RecordingChooser.from_bytes(again.to_bytes(), clock=clock)
        fold(again, clock, event)
    clock.now = end
    for chooser in (live, again):
        chooser.tick()
    assert again.digest() == live.digest()
    told, expected = again.explain(CONTEXT), live.explain(CONTEXT)
    assert [arm.estimates for arm in told.arms] == [arm.estimates for arm in expected.arms]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_many_at_once_lead_to_the_same_state_as_one_by_one(
    make: Make, settings: dict[str, Any]
) -> None:
    single, many = make(**settings, keep=50), make(**settings, keep=50)
    rows = [context(n) for n in range(40)]
    masks: list[list[str] | None] = [allowed(n) for n in range(40)]
    for turn in range(3):
        ids = [f"{turn}-{n}" for n in range(40)]
        proposed = many.propose_many(rows, masks)
        many.record_many(ids, proposed)
        for n, id in enumerate(ids):
            arm, propensity = proposed.arms[n], float(proposed.propensities[n])
            single.record(id, single.proposal(arm, propensity, rows[n], masks[n]))
        # some twice, some in parts, and the second part of others in between
        order = ["0-39", *ids, *ids[::-1]] if turn == 0 else [*ids[20:], *ids]
        quality = [float(k) / 90 if k % 4 else None for k in range(len(order))]
        for k, id in enumerate(order):
            quality[k] = None if k % 4 == 0 else int(id.split("-")[1]) / 40
        cost = [None if k % 3 else 0.01 for k in range(len(order))]
        many.reward_many(order, {"quality": quality, "cost": cost})
        for id, q, c in zip(order, quality, cost, strict=True):
            told = {n: v for n, v in (("quality", q), ("cost", c)) if v is not None}
            if told:
                single.reward(id, told)
        assert single.digest() == many.digest()


def test_what_is_kept_can_be_read(make: Make, clock: Clock) -> None:
    chooser = make(clock=clock)
    proposal = chooser.propose(CONTEXT)
    chooser.record("mine", proposal)
    clock.now += 5
    chooser.record("later", chooser.proposal("large", 0.25, CONTEXT, ["large", "small"]))
    chooser.reward("later", quality=0.5)
    told = chooser.decision("later")
    assert (told.arm, told.propensity, told.rewards, told.since, told.complete) == (
        "large",
        0.25,
        {"quality": 0.5},
        clock.now,
        False,
    )
    chooser.reward("later", cost=0.01)
    assert chooser.decision("later").complete
    assert chooser.decision("mine").rewards == {}
    assert [one.id for one in chooser.decisions()] == ["mine", "later"]
    with pytest.raises(lb.UnknownDecision):
        chooser.decision("nobody")
    with pytest.raises(lb.InvalidInput):
        chooser.decision(3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        told.arm = "small"  # type: ignore[misc]


def test_a_tick_lets_go_and_counts(make: Make, clock: Clock) -> None:
    chooser = make(
        objectives=[lb.Objective("clicks", default=0.0), lb.Objective("rating", range=(1, 5))],
        wait=60,
        keep=3,
        clock=clock,
    )
    ids = [chooser.choose(CONTEXT).id for _ in range(4)]
    chooser.reward(ids[1], clicks=1.0)
    assert chooser.tick() == 0
    assert (chooser.dropped, chooser.expired, chooser.defaulted) == (1, 0, 0)
    clock.now += 60
    assert chooser.tick() == 3
    assert (chooser.dropped, chooser.expired, chooser.defaulted, chooser.waiting) == (1, 3, 2, 0)
    assert chooser.tick() == 0


def test_what_is_forgotten_leaves_no_context(make: Make) -> None:
    chooser = make()
    ids = [chooser.choose(CONTEXT).id for _ in range(3)]
    assert [one.id for one in chooser.forget([ids[1], "unknown"])] == [ids[1]]
    assert [one.id for one in chooser.decisions()] == [ids[0], ids[2]]
    assert not chooser._ledger.recent  # what `outlook` reads has no ids, so all of it goes
    assert str(chooser.outlook()).startswith("A first guess")


def test_recorded_arms_may_be_retired(make: Make) -> None:
    chooser = make()
    proposal = chooser.propose(CONTEXT, ["small"])
    chooser.retire_arm("small")
    chooser.record("a", proposal)
    chooser.record("b", chooser.proposal("small", 0.5, CONTEXT))
    chooser.record("c", chooser.proposal("small", 0.5, CONTEXT, ["small", "large"]))
    many = chooser.proposals(["small", "large"], [1, 1], [CONTEXT] * 2, [["small"], None])
    chooser.record_many(["d", "e"], many)
    for id in "abcde":
        chooser.reward(id, quality=1.0)
    assert chooser.summary().plays == {"small": 4, "medium": 0, "large": 1}


def test_times_count_only_where_there_is_a_wait(make: Make, clock: Clock) -> None:
    for wait, equal in ((None, True), (60.0, False)):
        choosers = make(wait=wait, clock=clock), make(wait=wait, clock=clock)
        for chooser in choosers:
            clock.now += 1
            chooser.record("a", chooser.proposal("small", 1, CONTEXT))
        assert (choosers[0].digest() == choosers[1].digest()) == equal


WRONG: list[tuple[Callable[[RecordingChooser], object], type[Exception], str]] = [
    (lambda c: c.record("known", c.propose(CONTEXT)), lb.Contradiction, "'known' is kept already"),
    (lambda c: c.record("", c.propose(CONTEXT)), lb.InvalidInput, "must be a text, got ''"),
    (lambda c: c.record(3, c.propose(CONTEXT)), lb.InvalidInput, "must be a text, got 3"),  # type: ignore[arg-type]
    (lambda c: c.record("x", "small"), lb.InvalidInput, "record takes what propose"),  # type: ignore[arg-type]
    (lambda c: c.record("x", c.propose_many([CONTEXT])), lb.InvalidInput, "record_many"),  # type: ignore[arg-type]
    (lambda c: c.record("x", c.propose(CONTEXT)._replace(arm="smal")), lb.UnknownName, "'small'"),
    (
        lambda c: c.record("x", c.propose(CONTEXT)._replace(propensity=0)),
        lb.InvalidInput,
        "above 0",
    ),
    (
        lambda c: c.record("x", c.propose(CONTEXT)._replace(point=np.zeros(2))),
        lb.InvalidInput,
        "6 coordinates",
    ),
    (
        lambda c: c.record("x", c.propose(CONTEXT)._replace(mask=np.ones(9, bool))),
        lb.InvalidInput,
        "each of 3 arms",
    ),
    (lambda c: c.proposal("smal", 1, CONTEXT), lb.UnknownName, "did you mean 'small'"),
    (
        lambda c: c.proposal("small", 1, CONTEXT, ["large"]),
        lb.InvalidInput,
        "not among the allowed",
    ),
    (lambda c: c.proposal("small", 1, CONTEXT, []), lb.InvalidInput, "allowed is empty"),
    (lambda c: c.proposal("small", 1.5, CONTEXT), lb.InvalidInput, "at most 1"),
    (lambda c: c.proposal("small", "1", CONTEXT), lb.InvalidInput, "at most 1"),  # type: ignore[arg-type]
    (lambda c: c.proposal("small", 1, {"token": 3}), lb.UnknownName, "did you mean 'tokens'"),
    (lambda c: c.record_many(["x"], c.propose(CONTEXT)), lb.InvalidInput, "record_many takes"),  # type: ignore[arg-type]
    (lambda c: c.record_many("x", c.propose_many([CONTEXT])), lb.InvalidInput, "list of texts"),
    (
        lambda c: c.record_many(["x"], c.propose_many([CONTEXT] * 2)),
        lb.InvalidInput,
        "is 1 id for",
    ),
    (
        lambda c: c.record_many(["x", "x"], c.propose_many([CONTEXT] * 2)),
        lb.InvalidInput,
        "two decisions have the id 'x'",
    ),
    (
        lambda c: c.record_many(["x", ""], c.propose_many([CONTEXT] * 2)),
        lb.InvalidInput,
        "row 1: the id",
    ),
    (
        lambda c: c.record_many(["x", "known"], c.propose_many([CONTEXT] * 2)),
        lb.Contradiction,
        "'known' is kept already",
    ),
    (
        lambda c: c.record_many(["x"], c.propose_many([CONTEXT])._replace(arms=["smal"])),
        lb.UnknownName,
        "'small'",
    ),
    (
        lambda c: c.record_many(["x"], c.propose_many([CONTEXT])._replace(points=np.zeros((1, 2)))),
        lb.InvalidInput,
        "6 coordinates",
    ),
    (
        lambda c: c.record_many(["x"], c.propose_many([CONTEXT], ["small"])._replace(masks=[])),
        lb.InvalidInput,
        "0 masks for 1",
    ),
    (lambda c: c.proposals(["small"], [1], [CONTEXT] * 2), lb.InvalidInput, "1 arm for 2"),
    (
        lambda c: c.proposals(["small"] * 2, [1], [CONTEXT] * 2),
        lb.InvalidInput,
        "propensities has 1 number for 2 contexts",
    ),
    (
        lambda c: c.proposals(["small"], [1, 1], [CONTEXT] * 2),
        lb.InvalidInput,
        "is 1 arm for",
    ),
    (lambda c: c.proposals("small", [1], [CONTEXT]), lb.InvalidInput, "list of names"),
    (lambda c: c.proposals(["small", "x"], [1, 1], [CONTEXT] * 2), lb.UnknownName, "row 1"),
    (lambda c: c.proposals(["small"], [0], [CONTEXT]), lb.InvalidInput, "row 0: propensity"),
    (
        lambda c: c.proposals(["small"], [1], [CONTEXT], ["large"]),
        lb.InvalidInput,
        "not among the allowed",
    ),
]


@pytest.mark.parametrize(("call", "kind", "words"), WRONG)
def test_wrong_records_are_refused_and_change_nothing(
    make: Make, call: Callable[[RecordingChooser], object], kind: type[Exception], words: str
) -> None:
    chooser = make()
    chooser.record("known", chooser.propose(CONTEXT))
    before = chooser.digest()
    with pytest.raises(kind, match=words):
        call(chooser)
    assert chooser.digest() == before


def test_bytes_go_round(make: Make) -> None:
    chooser = make()
    for n in range(30):
        chooser.reward(chooser.choose(context(n), allowed(n)), quality=n / 30)
    again = RecordingChooser.from_bytes(chooser.to_bytes())
    assert again.digest() == chooser.digest()
    assert RecordingChooser.from_bytes(memoryview(chooser.to_bytes())).digest() == chooser.digest()
    assert [again.choose(context(n)).arm for n in range(9)] == [
        chooser.choose(context(n)).arm for n in range(9)
    ]
    with pytest.raises(lb.InvalidInput, match="what was given is not a saved chooser"):
        RecordingChooser.from_bytes(b"no")
    with pytest.raises(lb.InvalidInput, match="from_bytes takes"):
        RecordingChooser.from_bytes("no")  # type: ignore[arg-type]


def test_a_snapshot_does_not_move_while_it_is_packed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lexbandit.chooser import saving

    chooser = make()
    ids = [chooser.choose(CONTEXT).id for _ in range(5)]
    before = chooser.digest()
    contents_of = saving.contents_of

    def late(taken: saving.ChooserSnapshot) -> saving.Contents:
        monkeypatch.undo()
        chooser.add_arm("new")
        for id in ids:
            chooser.reward(id, quality=1.0)
        return contents_of(taken)

    monkeypatch.setattr(saving, "contents_of", late)
    assert RecordingChooser.from_bytes(chooser.to_bytes()).digest() == before


def test_ids_belong_to_the_digest(make: Make) -> None:
    one, other, third = make(), make(), make()
    proposal = one.propose(CONTEXT)
    one.record("order-1", proposal)
    other.record("order-1", proposal)
    third.record("order-2", proposal)
    assert one.digest() == other.digest() != third.digest()
    assert make().digest() == make().digest()
    first, second = make(arms=["small"]), make(arms=["small"])
    first.choose(CONTEXT)
    second.choose(CONTEXT)
    assert first.digest() != second.digest()
