"""The layer that speaks the user's language: named arms, objectives and features in their units."""

from lexbandit.chooser.chooser import Chooser
from lexbandit.chooser.proposals import Choice, KeptDecision, Proposal, Proposals

__all__ = ["Choice", "Chooser", "KeptDecision", "Proposal", "Proposals"]
