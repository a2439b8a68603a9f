"""Changes of arms, checked at the door: what is refused here is not written to the log."""

from collections.abc import Mapping

from lexbandit.chooser import Chooser
from lexbandit.chooser.doors import prior_of
from lexbandit.errors import InvalidInput, unknown_name
from lexbandit.service.schemas import arm_name


def check_added(
    chooser: Chooser, arm: str, prior: Mapping[str, float] | None, weight: int | None
) -> None:
    """Refuse a new arm's name or a prior that cannot be taken, or one for an arm that has learned.

    An arm that is there has its name, whatever the rule for names was when it came.
    """
    if arm not in chooser.arms and arm not in chooser.retired:
        arm_name(arm)
    known = prior_of(arm, prior, weight, chooser.objectives)
    if known is not None and arm in chooser.retired:
        raise InvalidInput(
            f"arm {arm!r} is taken back with all it learned; a prior is for a new arm."
        )


def check_retired(chooser: Chooser, arm: str) -> None:
    """Refuse to retire an arm that there is not, or the last one."""
    if arm not in chooser.arms:
        raise unknown_name("arm", arm, chooser.arms)
    if len(chooser.arms) == 1:
        raise InvalidInput(f"arm {arm!r} is the last one; it cannot be retired.")
