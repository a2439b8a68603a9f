"""Write studies/tolerance-*.toml, two for each kind of the environment `tolerance`.

python docs/tools/tolerance_studies.py

tolerance-KIND has 10,000 rounds and all policies, tolerance-long-KIND 100,000 and some of them.
"""

from pathlib import Path

from lexbandit.environments.tolerance import KINDS

STUDIES = Path(__file__).parents[2] / "studies"

# Each is a [[policies]] table. What `Chooser` did by default in the first version is the baseline.
# lex-thompson at caution 1 is its default with another seed: the two agree within their errors.
_DEFAULTS = """\
[[policies]]
name = "lex-linucb"
label = "lex-linucb (0.5)"
threshold = 0.5

[[policies]]
name = "lex-thompson"

[[policies]]
name = "cs-ts"

[[policies]]
name = "cs-ucb"
"""

POLICIES = f"""\
{_DEFAULTS}
[[policies]]
name = "lex-thompson"
label = "lex-thompson (caution)"
grid = {{ caution = ["1/4", "1/2", "1", "2", "4"] }}

[[policies]]
name = "lex-thompson"
label = "lex-thompson (draw_width)"
grid = {{ draw_width = ["0.25", "0.5", "1"] }}

[[policies]]
name = "cs-etc"

[[policies]]
name = "pe-cs"

[[policies]]
name = "thompson"

[[policies]]
name = "sum-thompson"
label = "sum-thompson (price)"
grid = {{ price = ["0.1", "0.3", "1", "3"] }}
"""

LONG_POLICIES = f"""\
{_DEFAULTS}
[[policies]]
name = "sum-thompson"
"""

STUDY = """\
# Written by docs/tools/tolerance_studies.py: change it there.
name = "{series}-{kind}"
title = "{title}: {kind}"
about = "{about}"
horizon = {horizon}
runs = 32
objectives = {objectives}
checkpoints = {checkpoints}
worlds_from = 3000

[series]
name = "{series}"
kind = "frontier"
label = "{kind}"
baseline = "lex-linucb (0.5)"

[environment]
name = "tolerance"
kind = "{kind}"

{policies}"""


SHORT = {
    "series": "tolerance",
    "title": "Tolerance",
    "horizon": "10_000",
    "checkpoints": "[300, 1_000, 3_000, 10_000]",
    "policies": POLICIES,
}
LONG = {
    "series": "tolerance-long",
    "title": "Tolerance, long",
    "horizon": "100_000",
    "checkpoints": "[10_000, 20_000, 100_000]",
    "policies": LONG_POLICIES,
}


def texts() -> dict[str, str]:
    """Return the text of every study by the name of its file."""
    return {
        f"{form['series']}-{kind}.toml": STUDY.format(
            kind=kind,
            about=(make.__doc__ or "").partition("\n")[0],
            objectives='["first", "second", "third"]' if kind == "three" else '["first", "last"]',
            **form,
        )
        for form in (SHORT, LONG)
        for kind, make in KINDS.items()
    }


if __name__ == "__main__":
    for name, text in texts().items():
        (STUDIES / name).write_text(text, encoding="utf-8")
