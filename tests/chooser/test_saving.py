"""Files: a round trip goes on as if nothing had happened; what is wrong is refused."""

import io
import json
import logging
import math
import os
import stat
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lexbandit as lb
from chooser.conftest import CONTEXT, Clock
from lexbandit.chooser import RecordingChooser, saving
from lexbandit.policies import make_policy
from lexbandit.policies.linear.lex_thompson import LexThompsonRule

Make = Callable[..., RecordingChooser]
FIXTURES = Path(__file__).parent / "fixtures"


def use(chooser: RecordingChooser, n: int, seed: int = 0) -> list[tuple[str, float]]:
    """Choose and reward, late and in parts; returns what was chosen."""
    random = np.random.default_rng(seed)
    out = []
    held: list[lb.Decision] = []
    for k in range(n):
        context = {"tokens": float(random.integers(9000)), "task": "code", "hour": 0.3 * k}
        decision = chooser.choose(context, ["small", "large"] if k % 5 == 0 else None)
        out.append((decision.arm, decision.propensity))
        chooser.reward(decision, quality=float(random.random()))
        held.append(decision)
        if k % 3 == 0 and k > 6:
            chooser.reward(held[k - 5].id, cost=0.07 * float(random.random()))
    return out


SETTINGS: list[dict[str, Any]] = [
    {},
    {"explore": 0.2, "wait": 1e9},
    {"policy": "moc-mab", "horizon": 5000},
    {"policy": "lex-tree"},
    {"policy": "lex-thompson"},
    {"policy": "cs-ucb1", "horizon": 5000},
    {"policy": "staged-lex", "horizon": 5000, "scale": np.float64(0.5)},
    {"policy": "random"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_loaded_chooser_goes_on_identically(
    make: Make, tmp_path: Path, settings: dict[str, Any]
) -> None:
    chooser = make(**settings)
    use(chooser, 40)
    chooser.add_arm("new")
    chooser.retire_arm("medium")
    use(chooser, 20, seed=5)
    waiting = chooser.choose(CONTEXT)
    chooser.reward(waiting, quality=0.25)
    chooser.save(tmp_path / "it")
    other = RecordingChooser.load(tmp_path / "it")
    assert str(other.explain(CONTEXT)) == str(chooser.explain(CONTEXT))
    assert str(other.summary()) == str(chooser.summary())
    assert (other.arms, other.waiting, other.outside) == (
        chooser.arms,
        chooser.waiting,
        chooser.outside,
    )
    assert other.contexts.counts == chooser.contexts.counts
    for one in (chooser, other):
        with pytest.raises(lb.Contradiction, match=r"was given as 0\.25 before"):
            one.reward(waiting.id, quality=0.5)
        one.reward(waiting.id, quality=0.25)
        one.reward(waiting.id, cost=0.01)
    assert use(other, 60, seed=1) == use(chooser, 60, seed=1)
    state = other.policy.state()
    for name, array in chooser.policy.state().items():
        np.testing.assert_array_equal(array, state[name])


def test_settings_are_saved(make: Make, tmp_path: Path) -> None:
    make(caution=2.0, draw_width=0.5).save(tmp_path / "it")
    policy = RecordingChooser.load(tmp_path / "it").policy
    assert isinstance(policy, LexThompsonRule)
    assert (policy.caution, policy.draw_width) == (2.0, 0.5)


def test_ids_are_never_given_twice(make: Make, tmp_path: Path) -> None:
    """What was chosen after the file was saved may be lost: its rewards go to nobody."""
    chooser = make()
    kept = chooser.choose(CONTEXT)
    chooser.save(tmp_path / "it")
    lost = [chooser.choose(CONTEXT) for _ in range(5)]
    other = RecordingChooser.load(tmp_path / "it")
    fresh = [other.choose(CONTEXT) for _ in range(5)]
    assert {one.id for one in lost}.isdisjoint(one.id for one in fresh)
    other.reward(kept, quality=1)
    with pytest.raises(lb.UnknownDecision):
        other.reward(lost[0], quality=1)


def test_the_wait_goes_on(make: Make, tmp_path: Path, clock: Clock) -> None:
    chooser = make(wait=60, clock=clock, objectives=lb.Objective("clicks", default=0.0))
    decision = chooser.choose(CONTEXT)
    clock.now += 30
    chooser.save(tmp_path / "it")
    other = RecordingChooser.load(tmp_path / "it", clock=clock)
    clock.now += 31
    with pytest.raises(lb.UnknownDecision):
        other.reward(decision, clicks=1)
    assert sum(arm.plays for arm in other.explain(CONTEXT).arms) == 1  # the default


def test_a_policy_object_must_come_again(make: Make, tmp_path: Path) -> None:
    def policy() -> Any:
        given = {"arms": 3, "dimension": 6, "objectives": 2, "tolerance": [0.02, 0]}
        return make_policy("lex-linucb", seed=3, **given)

    chooser = make(policy=policy())
    use(chooser, 30)
    chooser.save(tmp_path / "it")
    with pytest.raises(lb.InvalidInput, match=r"load\(path, policy="):
        RecordingChooser.load(tmp_path / "it")
    other = RecordingChooser.load(tmp_path / "it", policy=policy())
    assert use(other, 30) == use(chooser, 30)
    make().save(tmp_path / "named")
    with pytest.raises(lb.InvalidInput, match="leave policy out"):
        RecordingChooser.load(tmp_path / "named", policy=policy())


def test_settings_that_are_no_plain_values_cannot_be_saved(make: Make, tmp_path: Path) -> None:
    from lexbandit.bounds import make_bound

    bound = make_bound("holder", arms=3, objectives=2, cells=10, horizon=100)
    chooser = make(policy="moc-mab", horizon=100, bound=bound)
    with pytest.raises(lb.InvalidInput, match="plain numbers, texts and lists"):
        chooser.save(tmp_path / "it")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["pack", "fsync", "replace"])
def test_a_crash_leaves_the_old_file(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "it"
    make().save(path)
    before = path.read_bytes()

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    chooser = make()
    use(chooser, 5)
    monkeypatch.setattr(saving if step == "pack" else os, step, crash)
    with pytest.raises(KeyboardInterrupt):
        chooser.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    chooser.save(path)
    assert path.read_bytes() != before


def test_a_file_keeps_its_mode(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "it"
    make().save(path)
    path.chmod(0o640)
    make().save(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def saved(make: Make, path: Path) -> bytes:
    chooser = make()
    use(chooser, 25)
    chooser.save(path)
    return path.read_bytes()


def test_a_flipped_byte_is_found(make: Make, tmp_path: Path) -> None:
    """Wherever it is: the file is refused, or the byte held nothing (dates, attributes)."""
    path = tmp_path / "it"
    good = saved(make, path)
    truth = str(RecordingChooser.load(path).explain(CONTEXT))
    refused = 0
    places = range(0, len(good), max(1, len(good) // 150))
    for place in places:
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        try:
            other = RecordingChooser.load(path)
        except lb.InvalidInput:
            refused += 1
        else:
            assert str(other.explain(CONTEXT)) == truth
    assert refused > 0.6 * len(places)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(make: Make, tmp_path: Path, share: float) -> None:
    path = tmp_path / "it"
    good = saved(make, path)
    path.write_bytes(good[: int(share * len(good))])
    with pytest.raises(lb.InvalidInput, match="not a saved chooser, or is damaged"):
        RecordingChooser.load(path)


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> None:
    """Change the document or the arrays of a file."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(parts.pop("chooser.json"))
    change(document, parts)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("chooser.json", json.dumps(document))
        for name, data in parts.items():
            archive.writestr(name, data)


def array(value: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(value))
    return buffer.getvalue()


def _spoilt(members: dict[str, bytes], value: float) -> bytes:
    sums = np.load(io.BytesIO(members["comparison.npy"]))
    sums[0, 0, 0] = value
    return array(sums)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d, _: d.update(version=2), "version 2 of the format.*install a newer one"),
        (lambda d, _: d.update(version="1"), "its version is '1'"),
        (lambda d, _: d.update(version=0), "its version is 0"),
        (lambda d, _: d.update(format="other"), "its format is another"),
        (lambda d, _: d.pop("definition"), "damaged: it has no 'definition'"),
        (lambda d, _: d["definition"].pop("arms"), "damaged: it has no 'arms'"),
        (lambda d, _: d["definition"].update(policy="moc"), "unknown policy 'moc'"),
        (lambda d, _: d["definition"].update(arms=["a", "b"]), "cannot be loaded"),
        (lambda d, _: d["definition"]["context"][0].update(kind="colour"), "kind of context"),
        (lambda d, _: d.update(active=[False] * 3), "allows no arm"),
        (lambda d, _: d.update(waiting=d["waiting"][1:]), "of shape"),
        (lambda _, p: p.pop("policy/plays.npy"), "plays"),
        (lambda _, p: p.pop("random.npy"), "damaged: it has no 'random'"),
        (lambda _, p: p.update({"random.npy": array([1.0, 2.0])}), "random"),
        (lambda _, p: p.update({"waiting/arms.npy": array([7] * 25)}), "arms"),
        (lambda _, p: p.update({"waiting/points.npy": array([[2.0] * 6] * 25)}), "waiting/points"),
        (lambda _, p: p.update({"policy/plays.npy": b"no array"}), "damaged"),
        (lambda _, p: p.update({"waiting/propensities.npy": array([-0.5] * 25)}), "propensity"),
        (lambda _, p: p.update({"waiting/propensities.npy": array([1e9] * 25)}), "propensity"),
        (lambda _, p: p.update({"waiting/since.npy": array([math.nan] * 25)}), "waiting/since"),
        (lambda _, p: p.update({"waiting/since.npy": array([math.inf] * 25)}), "waiting/since"),
        (lambda _, p: p.update({"waiting/rewards.npy": array([[1.0, math.inf]] * 25)}), "rewards"),
        (lambda d, _: d.update(dropped=-1), "dropped must be a whole number"),
        (lambda d, _: d["outside"].update(cost=-1), "outside must be a whole number"),
        (
            lambda _, p: p.update({"received.npy": array([[1.0, 0, math.nan, 0, 1]] * 2)}),
            "received",
        ),
        (lambda _, p: p.update({"received.npy": array([[1.0, 0, 0, 0, 2.0]] * 2)}), "0 or 1"),
        (lambda _, p: p.update({"received.npy": array([[1.0, 0.0]] * 2)}), "received has .* shape"),
        (lambda _, p: p.pop("comparison.npy"), "damaged: it has no 'comparison'"),
        (lambda _, p: p.update({"comparison.npy": array([[[1.0]]])}), "comparison has .* of shape"),
        (lambda _, p: p.update({"comparison.npy": _spoilt(p, math.nan)}), "sums are finite"),
        (lambda _, p: p.update({"comparison.npy": _spoilt(p, -1.0)}), "counts are not negative"),
        (lambda d, _: d.update(plays=[1, 2]), "plays of 2 arms, not of 3"),
        (lambda d, _: d.update(plays=[1, 2, -1]), "plays must be a whole number"),
        (lambda d, _: d.update(rows=-1), "rows must be a whole number"),
    ],
)
def test_what_is_wrong_inside_is_refused(
    make: Make, tmp_path: Path, change: Any, words: str
) -> None:
    path = tmp_path / "it"
    saved(make, path)
    rewritten(path, change)
    with pytest.raises(lb.InvalidInput, match=words) as caught:
        RecordingChooser.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda d, _: d.pop("waiting"),
        lambda d, _: d.update(plays=[1, 2]),
        lambda _, p: p.pop("random.npy"),
        lambda _, p: p.pop("policy/plays.npy"),
    ],
)
def test_a_policy_can_be_given_again_after_a_file_was_refused(
    make: Make, tmp_path: Path, change: Any
) -> None:
    def policy() -> Any:
        given = {"arms": 3, "dimension": 6, "objectives": 2, "tolerance": [0.02, 0]}
        return make_policy("lex-linucb", seed=3, **given)

    chooser = make(policy=policy())
    use(chooser, 30)
    path = tmp_path / "it"
    chooser.save(path)
    whole = path.read_bytes()
    rewritten(path, change)
    mine = policy()
    with pytest.raises(lb.InvalidInput) as caught:
        RecordingChooser.load(path, policy=mine)
    for name, values in policy().state().items():
        np.testing.assert_array_equal(mine.state()[name], values)  # it learned nothing
    assert RecordingChooser.from_bytes(whole, policy=mine).digest() == chooser.digest()
    assert caught.value.__traceback__ is not None  # which holds the chooser that was refused


def test_objects_are_not_read(make: Make, tmp_path: Path) -> None:
    """No pickle: an array of objects is refused, so nothing of it is run."""
    path = tmp_path / "it"
    saved(make, path)
    rewritten(path, lambda _, p: p.update({"policy/plays.npy": array([{}, {}, {}])}))
    with pytest.raises(lb.InvalidInput, match="damaged"):
        RecordingChooser.load(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "it"
    with pytest.raises(lb.InvalidInput, match="cannot be read: No such file"):
        RecordingChooser.load(path)
    path.write_text("arm,quality\n")
    with pytest.raises(lb.InvalidInput, match="not a saved chooser"):
        RecordingChooser.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("letter.txt", "hello")
    with pytest.raises(lb.InvalidInput, match=r"it has no chooser\.json"):
        RecordingChooser.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("chooser.json", "[1, 2")
    with pytest.raises(lb.InvalidInput, match="damaged"):
        RecordingChooser.load(path)


def test_places_that_are_no_files(make: Make, tmp_path: Path) -> None:
    with pytest.raises(lb.InvalidInput, match="is a folder"):
        make().save(tmp_path)
    with pytest.raises(lb.InvalidInput, match=f"there is no folder {tmp_path / 'none'} to write"):
        make().save(tmp_path / "none" / "it")
    long = "x" * 250  # the name is short enough, that of the file beside it is not
    with pytest.raises(lb.InvalidInput, match=f"{long} cannot be written: .*, in the folder"):
        make().save(tmp_path / long)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(lb.InvalidInput, match="cannot be read"):
        RecordingChooser.load(tmp_path)
    for wrong in (3, None, ["a"]):
        with pytest.raises(lb.InvalidInput, match="path must be"):
            make().save(wrong)  # type: ignore[arg-type]
        with pytest.raises(lb.InvalidInput, match="path must be"):
            RecordingChooser.load(wrong)  # type: ignore[arg-type]


def test_choosing_goes_on_while_a_file_is_written(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chooser = make()
    begun, go_on = threading.Event(), threading.Event()
    pack = saving.pack

    def slow(*given: Any) -> bytes:
        begun.set()
        assert go_on.wait(30)
        return pack(*given)

    monkeypatch.setattr(saving, "pack", slow)
    thread = threading.Thread(target=chooser.save, args=(tmp_path / "it",))
    thread.start()
    assert begun.wait(30)
    decision = chooser.choose(CONTEXT)  # would wait forever if the lock were held
    go_on.set()
    thread.join(30)
    assert RecordingChooser.load(tmp_path / "it").waiting == 0
    chooser.reward(decision, quality=1)


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*.lexbandit")))
def test_saved_files_of_every_version_are_read(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Saved files, with what the chooser that wrote them said then."""
    told = json.loads((FIXTURES / name.replace(".lexbandit", ".json")).read_text())
    with caplog.at_level(logging.WARNING, "lexbandit"):
        chooser = RecordingChooser.load(FIXTURES / name)
    assert not caplog.records
    assert list(chooser.arms) == told["arms"]
    assert chooser.waiting == told["waiting"]
    known = chooser.policy.explain(chooser.contexts.encode(told["context"])[0]).arms
    for arm, report in zip(chooser.explain(told["context"]).arms, known, strict=True):
        expected = told["explained"][arm.name]
        assert report.plays == expected["plays"]  # in the cell, where there are cells
        assert arm.plays == chooser.summary().plays[arm.name] >= report.plays
        for objective, value in expected["estimates"].items():
            assert arm.estimates[objective].value == pytest.approx(value, abs=1e-9)
    summary = chooser.summary()
    for objective, mean in summary.received.items():
        interval = [mean.value, mean.low, mean.high, mean.count]
        assert interval == pytest.approx(told["received"][objective], rel=1e-9)
    for arm_name, row in summary.against.items():
        for objective, one in row.items():
            expected = told["against"][arm_name][objective]
            given = [one.value, one.low, one.high, one.decisions, one.tried, one.modelled]
            assert [number is None for number in given] == [v is None for v in expected]
            pairs = [(g, v) for g, v in zip(given, expected, strict=True) if v is not None]
            assert all(g == pytest.approx(v, rel=1e-9, abs=1e-12) for g, v in pairs)
    chooser.reward(told["open"], cost=0.01)
    assert chooser.choose(told["context"]).arm in chooser.arms


def test_there_is_a_fixture_of_this_version() -> None:
    versions = set()
    for path in FIXTURES.glob("*.lexbandit"):
        with zipfile.ZipFile(path) as archive:
            versions.add(json.loads(archive.read("chooser.json"))["version"])
    assert versions == set(range(1, saving.VERSION + 1))


@pytest.mark.parametrize("wrong", ["a\0b", "\ud800", b"a\0b"])
def test_a_name_that_no_file_can_have_is_refused(make: Make, wrong: Any) -> None:
    with pytest.raises(lb.InvalidInput, match="path must have characters that a file's name can"):
        make().save(wrong)
    with pytest.raises(lb.InvalidInput, match="path must have characters that a file's name can"):
        RecordingChooser.load(wrong)
