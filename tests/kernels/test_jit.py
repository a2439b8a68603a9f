"""How kernels are compiled and kept."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numba.core.runtime.nrt import rtsys

from lexbandit.kernels import cells, jit
from lexbandit.policies.cells.moc_mab import LexicographicRule

pytestmark = pytest.mark.compiled


def test_kernels_release_the_lock_and_are_kept_on_disk() -> None:
    loops: Any = LexicographicRule._rule[0]
    replay = loops.replay
    assert replay.targetoptions["nogil"]
    assert jit._FOLDER is not None
    assert replay._cache.cache_path.startswith(str(jit._FOLDER))


def test_the_folder_changes_with_any_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """A copy of the kernels, one of them edited, is kept elsewhere."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    sources = tmp_path / "kernels"
    sources.mkdir()
    for name in ("jit.py", "ties.py"):
        (sources / name).write_text("x = 1")
    monkeypatch.setattr(jit, "__file__", str(sources / "jit.py"))
    before = jit._cache_folder()
    assert jit._cache_folder() == before
    (sources / "ties.py").write_text("x = 2")
    assert jit._cache_folder() != before


def test_another_copy_of_the_sources_finds_what_the_first_compiled(tmp_path: Path) -> None:
    """Two copies of one module, in different places; then one of them is edited."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import mine; mine.double(1); "
    program += "print(sum(mine.double.stats.cache_hits.values()))"
    hits = []
    for place, body in (("a", "2 * x"), ("b", "2 * x"), ("c", "x + x")):
        (tmp_path / place).mkdir()
        source = (
            f"from lexbandit.kernels.jit import kernel\n@kernel\ndef double(x): return {body}\n"
        )
        (tmp_path / place / "mine.py").write_text(source)
        found = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / place)],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        hits.append(int(found.stdout))
    assert hits == [0, 1, 0]


@jit.kernel
def _first(_cells: cells.Cells, _slot: int, _ceilings: object, _row: int) -> int:
    return 1


@jit.kernel
def _second(_cells: cells.Cells, _slot: int, _ceilings: object, _row: int) -> int:
    return 1


def test_loops_around_different_rules_have_different_names() -> None:
    """Else one would be read from the other's place in the cache, also when they differ inside."""
    rules = [cells.cell_rule(mark=mark) for mark in (_first, _second)]
    for loop in ("select", "select_many", "replay", "shares"):
        loops: list[Any] = [getattr(rule.plain, loop) for rule in rules]
        names = {getattr(one, "kernel", one).py_func.__qualname__ for one in loops}
        assert len(names) == 2, loop


@jit.kernel
def _mean_of(values: Any, pair: tuple[Any, Any]) -> tuple[float, int]:
    space = np.empty(len(values))
    for n in range(len(values)):
        space[n] = values[n] + pair[0][n] + pair[1][n]
    return space.mean(), len(space[1:])


@jit.kernel
def _later(values: Any) -> Any:
    return values[1:]


def _objects_made(call: Callable[[], object]) -> int:
    """Return how many objects that count references numba makes in a call that is compiled."""
    call()
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    call()
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
    return int(after.mi_alloc - before.mi_alloc)


def test_python_calls_a_kernel_without_counting_references_to_its_arrays() -> None:
    """The only object is that of the array that the kernel makes."""
    one, two = np.arange(3.0), np.ones(3)
    assert _mean_of(one, (two, two)) == (3.0, 2)
    before = sys.getrefcount(one)
    assert _objects_made(lambda: _mean_of(one, (two, two))) == 1
    assert sys.getrefcount(one) == before


def test_an_array_that_a_kernel_returns_holds_the_one_it_is_part_of() -> None:
    one = np.arange(3.0)
    before = sys.getrefcount(one)
    later = _later(one)
    assert sys.getrefcount(one) > before
    one[2] = 7.0
    assert later.tolist() == [1.0, 7.0]
    del later
    assert sys.getrefcount(one) == before


def test_a_direct_kernel_is_called_past_the_types_once_it_is_compiled() -> None:
    """It compiles for no other types; an array whose entries have another size is refused."""
    one, two = np.arange(3.0), np.ones(3)
    direct = jit.Direct(jit.kernel(_mean_of.py_func))  # type: ignore[attr-defined]
    assert [direct.call(one, (two, two)) for _ in range(3)] == [(3.0, 2)] * 3
    assert direct.call is next(iter(direct.kernel.overloads.values())).entry_point
    with pytest.raises(TypeError):
        direct.call(one.astype(np.float32), (two, two))
    assert len(direct.kernel.overloads) == 1


@jit.once
def _doubled(x: float) -> float:
    return 2.0 * x


@jit.kernel
def _next_to(x: float) -> float:
    y = _doubled(x)
    return y + 1.0


def test_a_kernel_is_compiled_with_the_bodies_of_its_parts() -> None:
    """The part itself is not compiled."""
    assert _next_to(3.0) == 7.0
    part: Any = _doubled
    assert not part.signatures
    assert _doubled(3.0) == 6.0


@jit.leaf
def _halved(x: float) -> float:
    return 0.5 * x


@jit.kernel
def _half_of_sum(x: float, y: float) -> float:
    return _halved(x) + _halved(1) + _halved(y)


def test_a_leaf_is_part_of_its_kernels_and_can_be_called_from_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is compiled for kernels without an entry for Python, and once more for Python."""
    part: Any = _halved
    assert part.get_call_template((numba.types.literal(1),), {})[0].cases[0].args == (numba.int64,)
    assert _half_of_sum(3.0, 4.0) == 4.0
    assert _halved(3.0) == 1.5
    monkeypatch.setattr(part, "_compile_for_args", None)  # it is not asked again
    assert _halved(5.0) == 2.5
    assert _half_of_sum(5.0, 4.0) == 5.0


def test_a_kernel_is_read_from_the_cache_without_all_that_numba_can_compile(tmp_path: Path) -> None:
    """The compiler's tables take longer to read than a kernel, and SciPy's BLAS is among them."""
    source = "from lexbandit.kernels.jit import kernel\nimport numpy as np\n"
    source += "@kernel\ndef last(n):\n    x = np.empty(n)\n    x[-1] = n\n    return x[-1]\n"
    (tmp_path / "mine.py").write_text(source)
    program = "import sys, mine; print(mine.last(3), 'numba.np.arraymath' in sys.modules)"
    found = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert found == ["3.0 True\n", "3.0 False\n"]


FEW_DECISIONS = """
import sys
import numpy as np, lexbandit as lb
from lexbandit.kernels import jit
if sys.argv[1] == "compiled":
    jit.PATIENCE.left = 0.0
chooser = lb.Chooser(
    objectives=[lb.Objective("quality", tolerance=.02), lb.Objective("cost", goal="min")],
    arms=["small", "medium", "large"],
    context=[lb.Number("tokens", 0, 8000), lb.Category("task", ["code", "chat"])],
)
for n in range(12):
    request = {"tokens": 700 * n, "task": ["code", "chat"][n % 2]}
    decision = chooser.choose(request, ["small", "large"] if n == 5 else None)
    print(decision.arm, decision.propensity.hex())
    chooser.reward(decision, quality=(n * 7 % 5) / 5, cost=n / 12)
print(chooser.explain(request))
contexts = np.random.default_rng(1).random((9, 2))
rounds = lb.Rounds(contexts, np.random.default_rng(2).random((9, 4, 2)))
for name in ["moc-mab", "cp-ucb1", "cs-ucb1", "cd-ucb1", "p-ucb1", "s-ucb1"]:
    policy = lb.make_policy(name, arms=4, dimension=2, horizon=100)
    print(policy.replay(rounds))
    for n in range(4):
        decision = policy.select(contexts[n])
        policy.update(contexts[n], decision.arm, [n / 4, 1 - n / 4])
        print(decision.arm, decision.propensity.hex(), policy.state()["sums"].sum().hex())
"""


def test_a_few_decisions_are_made_without_compiling_and_are_the_same(tmp_path: Path) -> None:
    """Python itself runs the kernels that are not in the cache, and gives the same bits."""
    printed = []
    for how, folder in (("compiled", ""), ("deferred", str(tmp_path))):
        found = subprocess.run(
            [sys.executable, "-W", "error", "-c", FEW_DECISIONS, how],
            env={**os.environ, "NUMBA_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=True,
        )
        printed.append(found.stdout)
    assert printed[0] == printed[1]
    assert not list(tmp_path.rglob("*.nbc"))


@jit.deferred(values=3)
def _total(values: Any) -> float:
    total = 0.0
    for n in range(len(values)):
        total += values[n]
    return total


def test_a_deferred_kernel_is_compiled_for_large_arguments_or_once_patience_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it was compiled for is used for small arguments too."""
    monkeypatch.setattr(jit._KernelCache, "_load_overload", lambda *_: None)  # an empty cache
    monkeypatch.setattr(jit, "PATIENCE", SimpleNamespace(left=1.0))
    total: Any = _total
    assert total(np.ones(3)) == 3.0
    assert not total.overloads
    assert jit.PATIENCE.left < 1.0
    assert total(np.ones(4)) == 4.0
    assert len(total.overloads) == 1
    assert total(np.ones(3)) == 3.0
    monkeypatch.setattr(total, "_compile_for_args", None)  # it is not asked again
    assert total(np.ones(2)) == 2.0
    other: Any = jit.deferred(values=3)(total.py_func)
    jit.PATIENCE.left = 0.0
    assert other(np.ones(3)) == 3.0
    assert len(other.overloads) == 1
