"""Choosers: policies behind named arms, objectives and features in their own units."""

from lexbandit.chooser.batches import Decisions
from lexbandit.chooser.chooser import Chooser
from lexbandit.chooser.explanation import Explanation
from lexbandit.chooser.ledger import Decision
from lexbandit.chooser.recording import PendingDecision, Proposal, Proposals, RecordingChooser
from lexbandit.chooser.summary import Summary

__all__ = [
    "Chooser",
    "Decision",
    "Decisions",
    "Explanation",
    "PendingDecision",
    "Proposal",
    "Proposals",
    "RecordingChooser",
    "Summary",
]
