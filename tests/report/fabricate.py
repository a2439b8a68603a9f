"""A results folder of made-up numbers in the contract's format: test data, not results."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lexbandit.bench import summary

SCALES = (1.0, 1 / 5, 1 / 15)
# Made-up sizes: how far from the optimum each policy stays, in each objective, and its growth.
POLICIES = {
    "moc-mab": (0.010, 0.004, 0.75),
    "cd-ucb1": (0.007, 0.070, 0.80),
    "cp-ucb1": (0.060, 0.020, 0.95),
    "cs-ucb1": (0.080, 0.035, 0.97),
    "p-ucb1": (0.130, 0.090, 1.00),
    "s-ucb1": (0.140, -0.030, 1.00),
}
TITLES = {
    "experiment-1": "Experiment 1: synthetic",
    "experiment-2": "Experiment 2: multichannel communication",
    "experiment-3": "Experiment 3: display advertising",
}


def fabricate(
    directory: Path,
    *,
    study: str = "experiment-1",
    runs: int = 4,
    horizon: int = 10_000,
    arms: int = 4,
    dimension: int = 2,
    known_means: bool = True,
    policies: dict[str, tuple[float, ...]] | None = None,
    scales: tuple[float, ...] = SCALES,
    tuned: tuple[str, ...] | None = None,
    series: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Write one study into the folder; return its entry of the summary, as in summary.json.

    A policy is given as its distance in each objective and its growth. With `tuned`, only those
    policies have a grid of scales.
    """
    (directory / "runs").mkdir(parents=True, exist_ok=True)
    shapes: dict[str, tuple[float, ...]] = policies or dict(POLICIES)
    depth = len(next(iter(shapes.values()))) - 1
    grids = {name: scales if tuned is None or name in tuned else () for name in shapes}
    checkpoints = np.unique(np.geomspace(1, horizon, 120).astype(np.int64))
    frozen = {
        "name": study,
        "title": TITLES.get(study, f"A study called {study}"),
        "environment": {"name": "made-up", "parameters": {"noise": 0.1}},
        "policies": [
            {"policy": name, "label": label, "name": name, "parameters": {}}
            for name in shapes
            for label in (name, *(f"{name}@{_text(scale)}" for scale in scales))
        ],
        "series": series,
        "data": "",
        "grid": {"scale": list(scales)},
        "horizon": horizon,
        "runs": runs,
        "seed": 7,
        "checkpoints": checkpoints.tolist(),
        "objectives": ["throughput", "reliability", "cost"][:depth],
        "dimension": dimension,
        "paper": int(study[-1]) if study in TITLES else None,
        "files": [f"{study}-{run:016x}.parquet" for run in range(runs)],
        "versions": {"lexbandit": "0.0.0"},
    }
    (directory / f"study-{study}.json").write_text(json.dumps(frozen))
    frames = []
    for run in range(runs):
        random = np.random.default_rng([run, len(study)])
        rows = _rows(study, run, shapes, grids, checkpoints, arms, known_means, random)
        frame = pl.DataFrame(rows, schema=_SCHEMA)
        frame.write_parquet(directory / "runs" / f"{study}-{run:016x}.parquet")
        frames.append(frame)
        if dimension == 2:
            maps = _map(rows, arms, known_means, random)
            maps.select(
                pl.lit(study).alias("study"), pl.lit(run, pl.Int64).alias("run"), pl.all()
            ).write_parquet(directory / "runs" / f"{study}-{run:016x}.map.parquet")
    return _entry(pl.concat(frames), frozen)


def write_summary(
    directory: Path, entries: dict[str, dict[str, Any]], claims: list[dict[str, Any]]
) -> None:
    """Write summary.json for entries by study name."""
    experiments = {
        name.removeprefix("experiment-"): entry
        for name, entry in entries.items()
        if name.startswith("experiment-")
    }
    others = {name: entry for name, entry in entries.items() if name not in TITLES}
    (directory / "summary.json").write_text(
        json.dumps(
            {
                "experiments": experiments,
                "studies": others,
                "claims": claims,
                "versions": {"lexbandit": "0.0.0", "python": "3.x", "numpy": "2.x"},
            }
        )
    )


CLAIMS = [
    {
        "experiment": 1,
        "claim": "MOC-MAB beats CP-UCB1 in the dominant objective",
        "paper": None,
        "ours": 83.1,
        "holds": True,
    },
    {
        "experiment": 2,
        "claim": "MOC-MAB earns more than CP-UCB1 in <throughput> & more",
        "paper": 8.21,
        "ours": 7.3,
        "holds": True,
    },
    {
        "experiment": 2,
        "claim": "MOC-MAB earns more than CD-UCB1 in reliability",
        "paper": 13.66,
        "ours": -1.5,
        "holds": False,
    },
]

_SCHEMA: dict[str, Any] = {
    "study": pl.String,
    "run": pl.Int64,
    "policy": pl.String,
    "scale": pl.Float64,
    "label": pl.String,
    "t": pl.Int64,
    "regret": pl.List(pl.Float64),
    "pareto_regret": pl.Float64,
    "reward": pl.List(pl.Float64),
    "expected_reward": pl.List(pl.Float64),
    "arm_share": pl.List(pl.Float64),
    "seconds": pl.Float64,
    "state_bytes": pl.Int64,
}


def _text(scale: float) -> str:
    return {1.0: "1", 1 / 5: "1/5", 1 / 15: "1/15"}.get(scale, f"{scale}")


def _rows(
    study: str,
    run: int,
    shapes: dict[str, tuple[float, ...]],
    grids: dict[str, tuple[float, ...]],
    checkpoints: Any,
    arms: int,
    known: bool,
    random: np.random.Generator,
) -> list[dict[str, Any]]:
    rows = []
    for policy, (*sizes, power) in shapes.items():
        for scale in grids[policy] or (None,):
            worse = 1 + 3 * (scale or 0)
            wobble = 1 + 0.08 * random.standard_normal(len(sizes))
            for t in checkpoints:
                grown = float(checkpoints[-1]) * (t / checkpoints[-1]) ** power
                regret = [s * worse * w * grown for s, w in zip(sizes, wobble, strict=True)]
                most = (0.5, 0.7, 0.6)
                reward = [most[i] * t - lost for i, lost in enumerate(regret)]
                rows.append(
                    {
                        "study": study,
                        "run": run,
                        "policy": policy,
                        "scale": scale,
                        "label": policy if scale is None else f"{policy}@{_text(scale)}",
                        "t": int(t),
                        "regret": regret if known else None,
                        "pareto_regret": 0.7 * abs(regret[0]) if known else None,
                        "reward": reward,
                        "expected_reward": reward if known else None,
                        "arm_share": [1 / arms] * arms,
                        "seconds": 1e-7 * float(t),
                        "state_bytes": 1234 if t == checkpoints[-1] else None,
                    }
                )
    return rows


def _map(
    rows: list[dict[str, Any]], arms: int, known: bool, random: np.random.Generator
) -> pl.DataFrame:
    found: list[dict[str, Any]] = []
    for label in dict.fromkeys(row["label"] for row in rows):
        for x in range(10):
            for y in range(10):
                best = (2 if x > 5 else 1 if y > 4 else 0) % arms
                played = np.full(arms, 2)
                played[best if random.random() < 0.9 else 3 % arms] += 40
                optimal = [50 * (arm == best) for arm in range(arms)]
                found.append(
                    {
                        "label": label,
                        "x": x,
                        "y": y,
                        "played": played.tolist(),
                        "optimal": optimal if known else None,
                    }
                )
    lists = {"played": pl.List(pl.Int64), "optimal": pl.List(pl.Int64)}
    return pl.DataFrame(found, schema_overrides=lists)


def _entry(frame: pl.DataFrame, frozen: dict[str, Any]) -> dict[str, Any]:
    """Average by plain Python: an independent reckoning for the tests to compare with."""
    last = frame.filter(pl.col("t") == frozen["horizon"]).to_dicts()
    policies: dict[str, dict[str, Any]] = {}
    for label in dict.fromkeys(row["label"] for row in last):
        mine = [row for row in last if row["label"] == label]
        columns = {
            name: np.array([row[name] for row in mine], np.float64)
            for name in ("regret", "reward", "pareto_regret")
            if mine[0][name] is not None
        }
        entry: dict[str, Any] = {name: c.mean(axis=0).tolist() for name, c in columns.items()}
        if len(mine) > 1:
            entry["standard_error"] = {
                name: (c.std(axis=0, ddof=1) / np.sqrt(len(mine))).tolist()
                for name, c in columns.items()
            }
        policies.setdefault(mine[0]["policy"], {})[label.partition("@")[2] or "1"] = {
            **entry,
            "runs": len(mine),
            "horizon": frozen["horizon"],
        }
    best = {
        policy: {
            "by_reward": max(points, key=lambda s: points[s]["reward"][0]),
            **(
                {"by_regret": min(points, key=lambda s: points[s]["regret"][0])}
                if "regret" in next(iter(points.values()))
                else {}
            ),
        }
        for policy, points in policies.items()
    }
    return {
        "title": frozen["title"],
        "horizon": frozen["horizon"],
        "runs": frozen["runs"],
        "objectives": frozen["objectives"],
        "policies": policies,
        "best_scale": best,
        "seconds": 1.25,
    }


def fabricate_all(directory: Path) -> dict[str, dict[str, Any]]:
    """Write the three experiments and a study of another kind; return the summary's entries."""
    entries = {
        "experiment-1": fabricate(directory),
        "experiment-2": fabricate(directory, study="experiment-2", arms=8, horizon=100_000),
        "experiment-3": fabricate(
            directory, study="experiment-3", arms=2, dimension=4, runs=1, known_means=False
        ),
        "my-own": fabricate(
            directory,
            study="my-own",
            policies={"my-policy": (0.02, 0.03, 0.8), "random": (0.3, 0.2, 1.0)},
            scales=(),
            dimension=3,
        ),
    }
    write_summary(directory, entries, CLAIMS)
    return entries


# Made-up sizes of many policies, as in a study of all there are.
MANY: dict[str, tuple[float, ...]] = {
    **POLICIES,
    "s-ucb1": (0.140, 0.130, 1.00),
    "lex-linucb": (0.0017, 0.0007, 0.55),
    "lex-thompson": (0.0021, 0.0011, 0.55),
    "staged-lex": (0.012, 0.006, 0.7),
    "moc-mab (sub-gaussian)": (0.015, 0.011, 0.8),
    "moc-mab (kl)": (0.013, 0.0095, 0.8),
    "moc-mab (empirical-bernstein)": (0.022, 0.012, 0.85),
    "moc-mab (anytime)": (0.0155, 0.0115, 0.8),
    "doubling(moc-mab)": (0.03, 0.02, 0.85),
    "lex-tree": (0.02, 0.012, 0.85),
    "contextual-zooming": (0.03, 0.08, 0.9),
    "query-ad-clustering": (0.035, 0.075, 0.9),
    "linucb": (0.05, 0.09, 0.95),
    "suplinucb": (0.06, 0.1, 0.95),
    "pareto-ts": (0.13, 0.08, 1.0),
    "annealing-pareto": (0.14, 0.09, 1.0),
    "kl-ucb": (0.135, 0.12, 1.0),
    "epoch-greedy": (0.1, 0.11, 0.95),
    "pareto-zooming": (0.065, 0.018, 0.95),
    "pf-lex": (0.14, 0.125, 1.0),
    "ucb1": (0.136, 0.121, 1.0),
    "random": (0.3, 0.2, 1.0),
    "oracle": (0.0, 0.0, 1.0),
}


def fabricate_series(directory: Path) -> None:
    """Write a study of many policies, a growth series and one of situations; summarize them."""
    fabricate(directory, study="many", policies=MANY, tuned=tuple(POLICIES), horizon=100_000)
    some = {name: MANY[name] for name in ("moc-mab", "staged-lex", "lex-linucb", "lex-thompson")}
    for n in (4, 5, 6):
        sizes = {
            name: (*(size * 10 ** ((power - 1) * (n - 4)) for size in sizes), power)
            for name, (*sizes, power) in some.items()
        }
        fabricate(
            directory,
            study=f"growth-{n}",
            policies=sizes,
            scales=(),
            horizon=10**n,
            dimension=3,
            series={"name": "growth", "kind": "growth", "label": f"10^{n} rounds"},
        )
    few = [*list(MANY)[:9], "lex-tree", "linucb", "contextual-zooming", "random", "oracle"]
    for n, label in enumerate(
        ("smooth means", "rough means", "fifty features", "three objectives")
    ):
        random = np.random.default_rng(n)
        third = (0.01,) if label == "three objectives" else ()
        situation = {
            name: (
                MANY[name][0] * float(np.exp(random.standard_normal())),
                MANY[name][1] * float(np.exp(random.standard_normal())) - 0.01,
                *third,
                MANY[name][2],
            )
            for name in few
        }
        fabricate(
            directory,
            study=f"which-{n}",
            policies=situation,
            scales=(),
            dimension=3,
            series={"name": "which", "kind": "which", "label": label},
        )
    summary.write_summary(directory)
