"""Medical diagnosis: which expert should look at this patient?

Five experts were each trained on the same few patients. They differ in what they look at and in how
careful they are: some are right more often, some miss fewer of the ill. For every new patient we
ask one of them.

Being right comes first. Where experts are about equally often right, we prefer the one who finds
more of those who are ill. Whether an ill patient was found can only be known of ill patients; of
the others that reward is simply not told, and lexbandit takes it as missing and not as zero.

    python -m examples.diagnosis
"""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import lexbandit as lb
from examples.helpers import Comparison, Floats, main, received
from examples.pictures import save, shares, stacked, trade_off

# 1. The data: 569 patients of scikit-learn's breast-cancer set, 212 of them ill (malignant).
_DATA = load_breast_cancer()
PATIENTS, ILL = _DATA.data, _DATA.target == 0
TRAINED_ON = 100
_COLUMN = {str(name): n for n, name in enumerate(_DATA.feature_names)}

# 2. The experts: a classifier, the measurements it looks at, and the probability of illness from
#    which it says "ill".
EXPERTS: dict[str, tuple[Any, list[str], float]] = {
    "size": (
        make_pipeline(StandardScaler(), LogisticRegression()),
        ["mean radius", "mean texture"],
        0.5,
    ),
    "shape": (
        make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
        ["mean concavity", "mean smoothness", "mean symmetry"],
        0.5,
    ),
    "rules": (DecisionTreeClassifier(max_depth=3, random_state=0), list(_COLUMN)[:10], 0.5),
    "bayes": (GaussianNB(), ["mean radius", "mean concavity", "mean texture"], 0.5),
    "careful bayes": (GaussianNB(), ["mean radius", "mean concavity", "mean texture"], 0.2),
}
ARMS = list(EXPERTS)

# 3. What matters: being right, to within 2 percentage points; then the ill who are found.
OBJECTIVES = (
    lb.Objective("correct", range=(0, 1), tolerance=0.02),
    lb.Objective("found", range=(0, 1)),
)
NAMES = [objective.name for objective in OBJECTIVES]


def make_chooser(seed: int) -> lb.Chooser:
    """Return a chooser that sees two measurements of a patient before it asks an expert."""
    return lb.Chooser(
        objectives=OBJECTIVES,
        arms=ARMS,
        context=[lb.Number("radius", 6, 29), lb.Number("concavity", 0, 0.43)],
        seed=seed,
    )


def opinions(seed: int) -> tuple[Floats, Floats]:
    """Train the experts on some patients; return the other patients, and who says they are ill."""
    order = np.random.default_rng(seed).permutation(len(PATIENTS))
    seen, new = order[:TRAINED_ON], order[TRAINED_ON:]
    says = np.empty((len(new), len(ARMS)), np.bool_)
    for n, (model, looks_at, threshold) in enumerate(EXPERTS.values()):
        columns = [_COLUMN[name] for name in looks_at]
        model.fit(PATIENTS[seen][:, columns], ILL[seen])
        says[:, n] = model.predict_proba(PATIENTS[new][:, columns])[:, 1] >= threshold
    return new, says


def visits(rounds: int, seed: int) -> tuple[Floats, Floats]:
    """Return who comes, and correct and found for every expert: outcomes[n, experts, 2].

    The new patients are few, so they are drawn again and again: a clinic that sees such patients.
    """
    new, says = opinions(seed)
    drawn = np.random.default_rng([seed, 1]).integers(len(new), size=rounds)
    who = new[drawn]
    outcomes = np.empty((rounds, len(ARMS), 2))
    outcomes[..., 0] = says[drawn] == ILL[who, np.newaxis]
    outcomes[..., 1] = np.where(ILL[who, np.newaxis], says[drawn], np.nan)
    return who, outcomes


def play(chooser: lb.Chooser, who: Floats, outcomes: Floats) -> Floats:
    """Ask an expert about every patient; returns the experts asked."""
    asked = []
    for patient, outcome in zip(who, outcomes, strict=True):
        radius = float(PATIENTS[patient, _COLUMN["mean radius"]])
        concavity = float(PATIENTS[patient, _COLUMN["mean concavity"]])
        decision = chooser.choose({"radius": radius, "concavity": concavity})
        arm = ARMS.index(decision.arm)
        if ILL[patient]:
            chooser.reward(decision, correct=outcome[arm, 0], found=outcome[arm, 1])
        else:
            chooser.reward(decision, correct=outcome[arm, 0])
        asked.append(arm)
    return np.array(asked)


def run(*, rounds: int = 5_000, seeds: int = 8, out: Path | str) -> Comparison:
    """Compare the chooser with every expert alone, and draw whom it asks."""
    comparison = Comparison(NAMES, units=("share", "share of the ill"), decimals=(3, 3))
    radii, chosen = [], []
    for seed in range(seeds):
        who, outcomes = visits(rounds, seed)
        asked = play(make_chooser(seed), who, outcomes)
        comparison.add("lexbandit", received(outcomes, asked))
        # 4. The second half, when most is learned, is what a clinic gets from then on.
        late = slice(rounds // 2, None)
        comparison.add("lexbandit, second half", received(outcomes[late], asked[late]))
        for n, name in enumerate(ARMS):
            comparison.add(f"always {name}", outcomes[:, n])
        drawn = np.random.default_rng([seed, 2]).integers(len(ARMS), size=rounds)
        comparison.add("random", received(outcomes, drawn))
        radii.append(PATIENTS[who[late], _COLUMN["mean radius"]])
        chosen.append(asked[late])
    _draw(comparison, np.concatenate(radii), np.concatenate(chosen), out)
    return comparison


def _draw(comparison: Comparison, radii: Floats, chosen: Floats, out: Path | str) -> None:
    points = trade_off(
        comparison,
        title="What it brings",
        x="ill patients found (share)",
        y="correct diagnoses (share)",
        without=["lexbandit, second half"],
        sides={
            "lexbandit": "above",
            "always bayes": "left",
            "always shape": "below",
            "random": "left",
        },
    )
    edges = [0, 11, 13, 15, 17, 40]
    names = ["below 11", "11–13", "13–15", "15–17", "above 17"]
    place = np.digitize(radii, edges[1:-1])
    asked = {
        names[k]: {
            arm: float(np.mean(chosen[place == k] == n)) if (place == k).any() else 0.0
            for n, arm in enumerate(ARMS)
        }
        for k in range(len(names))
    }
    bars = shares(
        stacked(asked, ARMS),
        title="Whom it asks (second half)",
        x="mean radius of the cell nuclei",
        y="patients",
        order=names,
        names=ARMS,
    )
    save("Diagnosis: being right first, then finding the ill", [points, bars], out)


if __name__ == "__main__":
    main(run, "diagnosis")
