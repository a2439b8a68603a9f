"""A snapshot is taken quickly, and packed later as it was then."""

import time

from lexbandit.service.engine.point import AnsweredRequest, PastDecision, Point
from lexbandit.service.engine.snapshots import packer, unpack
from lexbandit.service.events import Event, body_of
from service.world import definition

ROWS = 100_000


def begun() -> Point:
    point = Point(definition(wait=100.0, keep=ROWS))
    body = {"arms": ["small", "medium", "large"], "definition": point.definition.plain()}
    point.fold(Event(1, 1000.0, "router", "begin", body_of(body)))
    return point


def test_many_ids_and_past_decisions_delay_nobody_while_a_snapshot_is_taken() -> None:
    point = begun()
    for n in range(ROWS):
        point.keys[f"k{n}"] = AnsweredRequest("request", n)
        point.past[f"p{n}"] = PastDecision("small", 0.5, 1000.0, {"quality": 0.5}, {})
    began = time.thread_time()
    pack = packer(point)
    assert time.thread_time() - began < 0.03  # on this thread: it is the one that serves
    late = {"rows": [{"id": "p7", "values": {"cost": 0.01}}]}
    point.fold(Event(2, 1001.0, "router", "rewards", body_of(late)))
    point.keys.popitem(last=False)
    packed = unpack(point.definition, pack())
    assert packed.past["p7"].late == {}
    assert point.past["p7"].late == {"cost": 0.01}
    assert list(packed.keys) == [f"k{n}" for n in range(ROWS)]
    assert list(packed.past) == list(point.past)


def test_a_snapshot_of_no_rows_is_read_back() -> None:
    point = begun()
    assert unpack(point.definition, packer(point)()).digest() == point.digest()
