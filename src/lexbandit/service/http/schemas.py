"""The bodies of requests and replies, one class each. The OpenAPI document is made of these."""

from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from lexbandit.chooser.explanation import Estimate
from lexbandit.chooser.reward_sums import ArmDifference
from lexbandit.chooser.summary import Mean
from lexbandit.service.engine.point import (
    LONGEST_ID,
    Allowed,
    ColumnsReply,
    Context,
    DecisionReply,
    DecisionRequest,
    FoundDecision,
    Propensity,
    RewardReply,
    Strict,
    Value,
)

__all__ = ["ColumnsReply", "DecisionReply", "DecisionRequest", "FoundDecision", "RewardReply"]

MOST_ROWS = 10_000

KnownId = Annotated[
    str,
    Meta(min_length=1, max_length=LONGEST_ID, description="The id of a decision that was made."),
]
Rewards = Annotated[
    dict[str, float | bool],
    Meta(
        min_length=1,
        description="Objectives and their values, in their own units; true is 1 and false is 0.",
    ),
]


Means = Annotated[
    dict[str, float],
    Meta(min_length=1, description="Objectives and their means, in their own units."),
]


class DecisionRows(Strict):
    """Asks for many decisions, one a row."""

    decisions: Annotated[list[DecisionRequest], Meta(min_length=1, max_length=MOST_ROWS)]


class DecisionColumns(Strict):
    """Asks for many decisions, by columns: the fast form. One list of allowed arms for all."""

    contexts: Annotated[
        dict[str, Annotated[list[Value], Meta(min_length=1, max_length=MOST_ROWS)]],
        Meta(min_length=1, description="One list of values a feature, all of one length."),
    ]
    allowed: Allowed = None


class DecisionsReply(Struct):
    """Many decisions, in the order asked for."""

    decisions: list[DecisionReply]


class RewardRow(Strict):
    """Rewards of one decision."""

    id: KnownId
    values: Rewards


class RewardRows(Strict):
    """Rewards of many decisions."""

    rewards: Annotated[list[RewardRow], Meta(min_length=1, max_length=MOST_ROWS)]


class RewardsReply(Struct):
    """What became of many rewards, in the order of the request."""

    rewards: list[RewardReply]


class ExplainRequest(Strict):
    """Asks why an arm would be chosen; nothing is decided."""

    context: Context
    allowed: Allowed = None


@dataclass(frozen=True)
class EstimateReply(Estimate):
    """What is known of an objective of an arm; null while nothing was observed.

    `low` and `high` are the ends of a credible interval of the reply's `level`, if it has one.
    """


class ArmExplanation(Struct):
    """What is known of an arm in a context.

    `within` is the probability that it is within the tolerances of the best arm; null for a policy
    that knows none. `as_good`: by the estimates it is.
    """

    name: str
    allowed: bool
    retired: bool
    plays: int
    estimates: dict[str, EstimateReply]
    as_good: bool
    why: str
    propensity: Propensity
    within: float | None


class ExplainReply(Struct):
    """Why an arm would be chosen: in fields, and as a text to print.

    `level` is the probability of the credible intervals; null for a policy whose intervals are not
    calibrated. `confidence` is the model's probability that the arm that would be chosen is within
    the tolerances of the best; null for a policy that knows none.
    """

    arms: list[ArmExplanation]
    likely: list[str]
    reason: str
    level: float | None
    confidence: float | None
    text: str


@dataclass(frozen=True)
class MeanReply(Mean):
    """An average of rewards with a 95 % interval; null where nothing is known."""


@dataclass(frozen=True)
class DifferenceReply(ArmDifference):
    """How much better the chooser did in one objective than always playing one arm would have.

    In the objective's own units, positive is better for the chooser; null where it is not known.
    `low` and `high` are the ends of an interval that covers the truth with the probability `level`.
    It is over the rewarded `decisions` in which the arm was allowed; in `tried` of them it was
    played, and in the share `modelled` it had next to no chance, so that the policy's model says
    what it would have given.
    """


class SummaryReply(Struct):
    """What was earned so far, and what always playing each arm would have given instead.

    `against` has a difference for each arm and objective. `counts` says how often what happened.
    `contexts` has the features that were taken otherwise than given, and how often; `outside` the
    rewards that were outside their objective's range.
    """

    received: dict[str, MeanReply]
    against: dict[str, dict[str, DifferenceReply]]
    plays: dict[str, int]
    decisions: int
    waiting: int
    counts: dict[str, int]
    contexts: dict[str, dict[str, int]]
    outside: dict[str, int]
    seq: int
    policy_version: int


class ArmRequest(Strict):
    """A new arm's prior: as if `weight` rewards of these means had come. Both, or neither."""

    prior: Means | UnsetType = UNSET
    weight: Annotated[float, Meta(ge=1, le=1_000_000, multiple_of=1)] | UnsetType = UNSET


class ArmReply(Struct):
    """An arm; `changed` is false if it was so already."""

    name: str
    retired: bool
    changed: bool


class Arm(Struct):
    """An arm; a retired one is no longer chosen."""

    name: str
    retired: bool


class ArmsReply(Struct):
    """All arms there ever were."""

    arms: list[Arm]


class PointsReply(Struct):
    """The decision points."""

    points: list[str]


class PointReply(Struct):
    """A decision point: its definition as in the configuration, and its arms as they are now."""

    name: str
    arms: list[str]
    definition: dict[str, Any]


class StateReply(Struct, omit_defaults=True):
    """Whether all is well.

    `replaying` has the points that learn the log anew under a changed definition, and how far they
    are, from 0 to 1; until then the definition of before serves.
    """

    status: str
    replaying: dict[str, float] = {}


class LogQuery(Strict):
    """Which events: those after `since`, at most `limit`."""

    since: Annotated[int, Meta(ge=0, le=2**53)] = 0
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS)] = 1000
