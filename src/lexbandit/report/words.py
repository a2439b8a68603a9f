"""Sentences that several figures share."""

from lexbandit.report.reading import StudyResults


def objective_text(study: StudyResults, i: int) -> str:
    """Return the title of an objective's panel."""
    rank = "dominant objective" if i == 0 else f"objective {i + 1}"
    name = study.objectives[i]
    return f"{name[:1].upper()}{name[1:]} ({rank})" if rank not in name else name


def band_text(study: StudyResults) -> str:
    """Return what the bands are."""
    if study.runs < 2:
        return "One run: no band."
    return f"Bands: 95 % confidence intervals of the mean over {study.runs} runs (Student's t)."


def listing(items: list[str], joint: str = ", ") -> str:
    """Return the items as one phrase."""
    return joint.join(items)
