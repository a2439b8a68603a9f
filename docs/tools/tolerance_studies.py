"""Write studies/tolerance-*.toml, one for each kind of the environment `tolerance`.

python docs/tools/tolerance_studies.py

All have the same policies, listed here once.
"""

from pathlib import Path

from lexbandit.environments.tolerance import KINDS

STUDIES = Path(__file__).parents[2] / "studies"

# Each is a [[policies]] table. What `Chooser` did by default in the first version is the baseline.
# lex-thompson at caution 1 is its default with another seed: the two agree within their errors.
POLICIES = """\
[[policies]]
name = "lex-linucb"
label = "lex-linucb (0.5)"
threshold = 0.5

[[policies]]
name = "lex-thompson"

[[policies]]
name = "lex-thompson"
label = "lex-thompson (caution)"
grid = { caution = ["1/4", "1/2", "1", "2", "4"] }

[[policies]]
name = "cs-ts"

[[policies]]
name = "cs-ucb"

[[policies]]
name = "cs-etc"

[[policies]]
name = "pe-cs"

[[policies]]
name = "thompson"

[[policies]]
name = "sum-thompson"
label = "sum-thompson (price)"
grid = { price = ["0.1", "0.3", "1", "3"] }
"""

STUDY = """\
# Written by docs/tools/tolerance_studies.py: change it there.
name = "tolerance-{kind}"
title = "Tolerance: {kind}"
about = "{about}"
horizon = 10_000
runs = 32
objectives = {objectives}
checkpoints = [300, 1_000, 3_000, 10_000]
worlds_from = 1000

[series]
name = "tolerance"
kind = "frontier"
label = "{kind}"
baseline = "lex-linucb (0.5)"

[environment]
name = "tolerance"
kind = "{kind}"

{policies}"""


def texts() -> dict[str, str]:
    """Return the text of every study by the name of its file."""
    return {
        f"tolerance-{kind}.toml": STUDY.format(
            kind=kind,
            about=(make.__doc__ or "").partition("\n")[0],
            objectives='["first", "second", "third"]' if kind == "three" else '["first", "last"]',
            policies=POLICIES,
        )
        for kind, make in KINDS.items()
    }


if __name__ == "__main__":
    for name, text in texts().items():
        (STUDIES / name).write_text(text, encoding="utf-8")
