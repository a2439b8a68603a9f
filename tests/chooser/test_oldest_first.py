"""`OldestFirst` beside an `OrderedDict`: the same ids in the same order, whatever is done."""

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from lexbandit.chooser.ledger import OldestFirst

IDS = st.sampled_from("abcdef")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), IDS),
        st.tuples(st.just("replace"), IDS),
        st.tuples(st.just("pop"), IDS),
        st.tuples(st.just("extend"), st.lists(IDS, unique=True)),
        st.tuples(st.just("oldest"), st.just("")),
        st.tuples(st.just("drop"), st.sampled_from(["", "two"])),
    ),
    max_size=60,
)


@given(STEPS)
def test_it_has_what_an_ordered_dict_has(steps: list[tuple[str, str]]) -> None:
    ours: OldestFirst[int] = OldestFirst([("a", -1), ("b", -2)])
    plain = OrderedDict([("a", -1), ("b", -2)])
    for n, (what, asked) in enumerate(steps):
        if what == "set":
            ours[asked] = plain[asked] = n
        elif what == "replace":
            if asked in plain:
                ours.replace(asked, n)
                plain[asked] = n
        elif what == "pop":
            assert ours.pop(asked) == plain.pop(asked, None)
        elif what == "extend":
            new = [id for id in asked if id not in plain]
            ours.extend(new, [n] * len(new))
            plain.update((id, n) for id in new)
        elif what == "drop":
            count = min(len(asked), len(plain))
            ours.drop_oldest(count)
            for _ in range(count):
                plain.popitem(last=False)
        elif plain:
            assert ours.pop_oldest() == plain.popitem(last=False)[1]
        assert list(ours.items()) == list(plain.items())
        assert list(ours.oldest()) == list(plain.values())


def test_what_is_removed_from_the_middle_takes_no_memory_for_long() -> None:
    ours: OldestFirst[int] = OldestFirst([("first", 0)])
    for n in range(10_000):
        ours[f"{n}"] = n
        del ours[f"{n}"]
    assert len(ours._order) < 2_000
    assert ours.pop_oldest() == 0
    assert not ours
