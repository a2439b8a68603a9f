"""Every example runs, in a short form, keeps its promise and draws its picture."""

import ast
import importlib
import io
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from rich.console import Console

ROOT = Path(__file__).parent.parent
if str(ROOT) not in sys.path:  # the examples are no part of the package
    sys.path.insert(0, str(ROOT))

from examples.helpers import Comparison, oracle, received  # noqa: E402

import lexbandit as lb  # noqa: E402

NAMES = ["radio", "diagnosis", "recommender", "network", "language_models"]

# Choosing one by one in Python is slow without the JIT, and teaches nothing more.
pytestmark = [
    pytest.mark.compiled,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:sklearn"),
]


def example(name: str) -> ModuleType:
    if name == "diagnosis":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    return importlib.import_module(f"examples.{name}")


def is_picture(path: Path) -> bool:
    drawn = path.read_text()
    return drawn.startswith("<svg") and "lexbandit" in drawn and len(drawn) < 250_000


def test_no_name_hides_an_error_bar() -> None:
    """Names stand beyond the bars, and what is white behind them is drawn before the bars."""
    from examples.pictures import trade_off

    comparison = Comparison(["throughput", "delivered"], ("", ""), (3, 3))
    for seed in range(3):
        comparison.add("lexbandit", np.array([[0.2 + 0.1 * seed, 0.5]]))
        comparison.add("random", np.array([[0.1, 0.3 + 0.1 * seed]]))
    drawn = trade_off(comparison, title="", x="x", y="y", sides={"random": "above"}).to_dict()
    layers = drawn["layer"]
    marks = [layer["mark"] for layer in layers]
    white = [n for n, mark in enumerate(marks) if mark.get("stroke") == "white"]
    bars = [n for n, mark in enumerate(marks) if mark["type"] == "rule"]
    assert white
    assert bars
    assert max(white) < min(bars)
    ends = {"right": ("right", "y"), "left": ("left", "y"), "above": ("x", "high")}
    for n in white:
        side = layers[n]["transform"][0]["filter"].split("'")[1]
        across, up = ends.get(side, ("x", "low"))
        fields = layers[n]["encoding"]
        assert (fields["x"]["field"], fields["y"]["field"]) == (across, up)


@pytest.mark.parametrize("name", NAMES)
def test_no_setting_is_picked(name: str) -> None:
    """A chooser is made of what is to be chosen, and of a seed: everything else is the default."""
    tree = ast.parse(Path(str(example(name).__file__)).read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    choosers = [call for call in calls if ast.unparse(call.func) == "lb.Chooser"]
    assert choosers
    for made in choosers:
        given = {keyword.arg for keyword in made.keywords}
        assert given == {"objectives", "arms", "context", "seed"}


def test_radio_keeps_throughput_and_delivers_more(tmp_path: Path) -> None:
    radio, out = example("radio"), tmp_path / "radio.svg"
    got = radio.run(rounds=5000, seeds=2, out=out)
    assert is_picture(out)
    # Far above the best single arm in the first objective, and above the throughput oracle in the
    # second. After 5,000 messages it is still learning: 0.05 from the best, 0.03 in the long form.
    assert got.mean("lexbandit, second half", 0) > got.mean("best fixed arm", 0) + 0.03
    assert got.mean("oracle, throughput only", 0) - got.mean("lexbandit, second half", 0) < 0.05
    assert got.mean("lexbandit, second half", 1) > got.mean("oracle, throughput only", 1) + 0.05


def test_diagnosis_is_right_and_finds_more_of_the_ill(tmp_path: Path) -> None:
    diagnosis, out = example("diagnosis"), tmp_path / "diagnosis.svg"
    got = diagnosis.run(rounds=2500, seeds=4, out=out)
    assert is_picture(out)
    best = max((f"always {arm}" for arm in diagnosis.ARMS), key=lambda name: got.mean(name, 0))
    assert got.mean("lexbandit", 0) > got.mean(best, 0) - diagnosis.OBJECTIVES[0].tolerance
    assert got.mean("lexbandit", 1) > got.mean("always bayes", 1) + 0.03
    assert got.mean("lexbandit", 1) > got.mean("random", 1) + 0.03


def test_found_is_missing_for_the_healthy_and_never_zero() -> None:
    diagnosis = example("diagnosis")
    who, outcomes = diagnosis.visits(400, seed=0)
    assert np.isnan(outcomes[~diagnosis.ILL[who], :, 1]).all()
    assert not np.isnan(outcomes[diagnosis.ILL[who]]).any()
    chooser = diagnosis.make_chooser(seed=0)
    diagnosis.play(chooser, who, outcomes)
    summary = chooser.summary()
    assert summary.received["correct"].count == 400
    assert summary.received["found"].count == diagnosis.ILL[who].sum()


def test_recommender_keeps_likes_and_shows_more_that_is_new(tmp_path: Path) -> None:
    recommender, out = example("recommender"), tmp_path / "recommender.svg"
    got = recommender.run(rounds=4000, seeds=12, out=out)  # of four, chance decides
    assert is_picture(out)
    tolerance = recommender.OBJECTIVES[0].tolerance
    assert got.mean("lexbandit", 0) > got.mean("likes only", 0) - tolerance
    assert got.mean("lexbandit", 1) > got.mean("likes only", 1) + 0.5


def test_recommender_learns_where_people_give_no_rating() -> None:
    recommender = example("recommender")
    purchases, mainstream, outcomes = recommender.people(400, 0)
    seen = recommender.unrated(outcomes, 0)
    chooser = recommender.make_chooser(0)
    recommender.play(chooser, purchases, mainstream, seen)
    received = chooser.summary().received
    assert received["liked"].count == 400
    assert 200 < received["novelty"].count == np.isfinite(seen[:, 0, 1]).sum() < 280


def test_network_keeps_energy_and_saves_time(tmp_path: Path) -> None:
    network, out = example("network"), tmp_path / "network.svg"
    got = network.run(rounds=4000, seeds=2, out=out)
    assert is_picture(out)
    tolerance = network.OBJECTIVES[0].tolerance
    best = got.mean("oracle, energy only", 0)
    assert got.mean("lexbandit", 0) < best + tolerance / 2
    assert got.mean("lexbandit", 1) < 0.75 * got.mean("oracle, energy only", 1)
    # The way through the town is taken in the morning, and not in the evening when it is slow.
    told = "\n".join(got.lines)
    assert "at 7 h" in told
    assert "at 19 h" in told


def test_network_learns_the_hours() -> None:
    network = example("network")
    contexts, _, outcomes = network.packets(5000, seed=3)
    taken = network.play(network.make_chooser(3), contexts, outcomes)
    large = (contexts[:, 0] > 500) & (np.arange(5000) > 2500)
    town = taken == network.ARMS.index("through the town")
    hour = contexts[:, 2]
    assert town[large & (hour > 5) & (hour < 10)].mean() > 0.5
    assert town[large & (hour > 17) & (hour < 21)].mean() < 0.1


def test_language_models_on_the_stand_in(tmp_path: Path) -> None:
    models, out = example("language_models"), tmp_path / "models.svg"
    got = models.run(seeds=4, out=out, data=tmp_path, prices=(10,))
    assert is_picture(out)
    assert "generated stand-in" in "\n".join(got.lines)
    saves(got, most_lost=0.02, least_saved=0.6)


@pytest.mark.slow
def test_language_models_on_the_recorded_prompts(tmp_path: Path) -> None:
    models, out = example("language_models"), tmp_path / "models.svg"
    if models.data_file() is None:
        pytest.skip("llm_routing.jsonl is not here: set LEXBANDIT_DATA to its folder")
    got = models.run(seeds=20, out=out, prices=(10,))
    assert is_picture(out)
    assert "recorded prompts, 1,785" in "\n".join(got.lines)
    saves(got, most_lost=models.OBJECTIVES[0].tolerance, least_saved=0.6)
    assert got.mean("lexbandit", 2) < 4  # beyond the tolerance, for 1,000 prompts
    assert got.mean("random", 2) > 40
    # What the page admits: a weighted sum with the right price is cheaper here, and about as good.
    assert got.mean("sum, price 10", 0) > got.mean("lexbandit", 0) - 0.005
    assert got.mean("sum, price 10", 1) < got.mean("lexbandit", 1)


def saves(got: Comparison, *, most_lost: float, least_saved: float) -> None:
    best = "always gemini-2.5-pro"
    assert got.mean(best, 0) - got.mean("lexbandit", 0) < most_lost
    assert got.mean("lexbandit", 1) < (1 - least_saved) * got.mean(best, 1)
    assert got.mean("lexbandit", 0) > got.mean("random", 0) + 0.02
    assert got.mean("lexbandit", 0) > got.mean("always llama-3.1-8b", 0) + 0.1


def test_loss_beyond_the_tolerance_by_hand() -> None:
    models = example("language_models")
    contexts = [{"kind": "code"}, {"kind": "code"}, {"kind": "maths"}]
    outcomes = np.zeros((3, 3, 2))
    outcomes[:, :, 0] = [[0.8, 0.9, 1.0], [0.6, 0.9, 0.8], [0.5, 0.51, 0.5]]
    means = models.means_by_kind(contexts, outcomes)
    assert means[:2, :, 0] == pytest.approx(np.array([[0.7, 0.9, 0.9]] * 2))
    got = models.measured(outcomes, means, np.array([0, 2, 0]))
    # The first is 0.2 below the best of its kind, 0.18 beyond the tolerance of 0.02.
    assert got[:, 2] == pytest.approx([180, 0, 0])
    assert got[:, 0].tolist() == [0.8, 0.8, 0.5]


def test_features_of_a_prompt() -> None:
    features = example("language_models").features
    assert features("Write a Python function.") == {"characters": 24, "kind": "code"}
    assert features("Which? (A) this (B) that")["kind"] == "choices"
    assert features("If 3 cost 7, what do six cost?")["kind"] == "maths"
    assert features("Why is the sky blue?")["kind"] == "question"


def test_oracle_by_hand() -> None:
    objectives = [
        lb.Objective("quality", tolerance=0.1),
        lb.Objective("cost", goal="min", range=(0, 10)),
    ]
    means = np.array(
        [
            [[0.9, 5.0], [0.82, 1.0], [0.7, 0.0]],  # the second is as good, and cheaper
            [[0.9, 5.0], [0.75, 1.0], [0.7, 0.0]],  # nobody is as good as the first
            [[0.5, 2.0], [0.5, 2.0], [0.45, 2.0]],  # all tie: the first of them
        ]
    )
    assert oracle(means, objectives).tolist() == [1, 0, 0]
    assert received(means, np.array([1, 0, 2])).tolist() == [[0.82, 1.0], [0.9, 5.0], [0.45, 2.0]]


def test_comparison_prints_means_and_spreads() -> None:
    comparison = Comparison(["likes"], units=("share",), decimals=(2,))
    comparison.add("ours", np.array([[0.0], [1.0], [np.nan]]))
    comparison.add("ours", np.array([[1.0], [1.0]]))
    assert comparison.mean("ours", 0) == 0.75
    assert str(comparison).splitlines() == [
        "strategy  likes (share)",
        "ours        0.75 ± 0.35",
        "Means over 2 seeds, ± the standard deviation between them.",
    ]


def test_pictures_are_svg_or_png(tmp_path: Path) -> None:
    pictures = importlib.import_module("examples.pictures")
    comparison = Comparison(["likes", "novelty"], units=("", ""), decimals=(2, 2))
    comparison.add("lexbandit", np.array([[0.5, 0.5]]))
    panel = pictures.trade_off(comparison, title="t", x="x", y="y")
    assert pictures.save("t", [panel], tmp_path / "new" / "a.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(lb.InvalidInput, match=r"written as .svg or .png, got 'a.pdf'"):
        pictures.save("t", [panel], tmp_path / "a.pdf")


def test_peers_that_are_not_installed_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = importlib.import_module("benchmarks.peers")
    monkeypatch.setattr(peers, "TURNS", 1)
    monkeypatch.setattr(peers, "DECISIONS", 250)
    absent = ("no_such_package", peers.mabwiser_step)
    ours = peers.PEERS["lexbandit"]
    monkeypatch.setattr(peers, "PEERS", {"lexbandit": ours, "Nobody": absent})
    console = Console(width=110, record=True, file=io.StringIO())
    micro = peers.one_decision(console)
    assert list(micro) == ["lexbandit"]
    assert 1 < micro["lexbandit"] < 10_000
    said = console.export_text()
    assert "Nobody: not installed, left out (pip install no_such_package)." in said


@pytest.mark.parametrize("name", NAMES)
def test_every_example_has_its_page_and_picture(name: str) -> None:
    page = (ROOT / "docs" / "examples" / f"{name}.md").read_text()
    assert f"(pictures/{name}.svg)" in page
    assert f"python -m examples.{name}" in page
    assert f"[`{name}`]({name}.md)" in (ROOT / "docs" / "examples" / "index.md").read_text()
    assert is_picture(ROOT / "docs" / "examples" / "pictures" / f"{name}.svg")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_pages_show_what_the_command_prints(name: str, tmp_path: Path) -> None:
    module = example(name)
    if name == "language_models" and module.data_file() is None:
        pytest.skip("llm_routing.jsonl is not here: set LEXBANDIT_DATA to its folder")
    printed = str(module.run(out=tmp_path / "picture.svg"))
    page = (ROOT / "docs" / "examples" / f"{name}.md").read_text()
    shown = re.findall(r"^    (.*)$", page, re.MULTILINE)
    for line in printed.splitlines():
        if line:
            assert line.rstrip() in shown, line
