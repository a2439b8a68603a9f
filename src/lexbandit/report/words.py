"""Phrases that several figures share."""

from lexbandit.report.results import StudyResults
from lexbandit.report.style import leading, policy_name

# The paper's own words for objectives that have no other name.
_RANKS = ("dominant", "non-dominant")


def objective_title(study: StudyResults, i: int) -> str:
    """Return the title of an objective's panel."""
    name = study.objectives[i]
    if name in _RANKS:
        return f"{name.capitalize()} objective"
    rank = "dominant objective" if i == 0 else f"objective {i + 1}"
    return f"{name[:1].upper()}{name[1:]} ({rank})"


def objective_phrase(study: StudyResults, i: int) -> str:
    """Return an objective as it stands after "in"."""
    name = study.objectives[i]
    return f"the {name} objective" if name in _RANKS else name


def band_text(study: StudyResults) -> str:
    """Return what the bands are."""
    if study.runs < 2:
        return "One run: no band."
    return f"Bands: 95 % confidence intervals of the mean over {study.runs} runs (Student's t)."


def faint_text(study: StudyResults) -> str:
    """Return what the lines without names are, if there are any."""
    faint = [p for p in study.policies if p not in leading(study.policies)]
    if not faint:
        return ""
    return f" Thin and grey, as far as they are in the panel: {', '.join(map(policy_name, faint))}."


def data_text(study: StudyResults) -> str | None:
    """Return a warning where the data are a stand-in for real ones."""
    environment = study.frozen.get("environment") or {}
    given = environment.get("parameters") or {}
    stand_in = environment.get("name") == "display-advertising" and not given.get("path")
    if stand_in or study.frozen.get("data") == "synthetic":
        return (
            "Synthetic data: made up in the format of Yahoo! R6A with a planted click model, "
            "since the real files may not be redistributed. The numbers say nothing about Yahoo!."
        )
    return None


def full_title(study: StudyResults) -> str:
    """Return the study's title, with a word on synthetic data where they stand for real ones."""
    said = data_text(study) is None or "synthetic" in study.title
    return study.title if said else f"{study.title} (synthetic data)"
