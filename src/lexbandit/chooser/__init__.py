"""The layer that speaks the user's language: named arms, objectives and features in their units."""

from lexbandit.chooser.batches import Decisions
from lexbandit.chooser.chooser import Chooser
from lexbandit.chooser.explaining import Explanation
from lexbandit.chooser.proposals import Decision, PendingDecision, Proposal, Proposals
from lexbandit.chooser.summary import Summary

__all__ = [
    "Chooser",
    "Decision",
    "Decisions",
    "Explanation",
    "PendingDecision",
    "Proposal",
    "Proposals",
    "Summary",
]
