import numpy as np
import pytest
from rich.console import Console

from lexbandit import reproduce


def test_runs_everything_and_compares(monkeypatch: pytest.MonkeyPatch) -> None:
    small = [
        reproduce.Experiment("Experiment 1: small", "synthetic", 300, 2),
        reproduce.Experiment("Experiment 2: small", "multichannel", 300, 2),
    ]
    monkeypatch.setattr(reproduce, "EXPERIMENTS", small)
    console = Console(record=True, width=100)
    first, second = reproduce.run_all(console)
    assert first.shape == second.shape == (2, 6, 7, 4)
    # Regret and reward of one run add up to the same optimum for every policy and scale.
    for figures in (first, second):
        optimum = figures[..., 0] + figures[..., 2]
        np.testing.assert_allclose(optimum, np.broadcast_to(optimum[:, :1, :1], optimum.shape))
    console.print(reproduce.results_table(small[0], first))
    console.print(reproduce.claims_table(first, second))
    text = console.export_text()
    assert text.count("regret 1 below") == 4
    assert "+82.94 %" in text


def test_the_best_scale_is_the_one_of_lowest_dominant_regret() -> None:
    figures = np.zeros((1, 2, 3, 4))
    figures[0, :, :, 0] = [[3, 1, 2], [5, 6, 4]]
    assert reproduce.best_scales(figures) == [1, 2]
