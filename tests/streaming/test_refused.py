"""What was refused for when it came is remembered as long as it may be read back."""

from hypothesis import given
from hypothesis import strategies as st

from streaming import refused
from streaming.accounting import DeadLetter
from streaming.refused import CHUNK, PAST_MESSAGES, Refused, unpacked


def letter(partition: int, offset: int, kind: str = "late") -> DeadLetter:
    return DeadLetter("s", partition, offset, 0, kind, "", None)  # type: ignore[arg-type]


def remembered(memory: Refused) -> dict[int, list[int]]:
    return {partition: offsets.tolist() for partition, offsets in unpacked(memory.packed()).items()}


LETTERS = st.builds(
    letter,
    st.integers(0, 2),
    st.integers(0, 5 * CHUNK),
    st.sampled_from(["late", "future", "past", "malformed"]),
)


@given(st.lists(st.lists(LETTERS, max_size=20), max_size=6))
def test_every_offset_is_told_once_and_survives_a_restart(batches: list[list[DeadLetter]]) -> None:
    memory, kept = Refused(), {}
    for letters in batches:
        for _ in range(2):  # a batch that is run again
            kept |= dict(memory.stored(memory.note(letters)))
        assert memory.forget() == []
        restored = Refused()
        for place, data in kept.items():
            restored.restore(place, data)
        memory = restored
    judged = [each for letters in batches for each in letters if each.kind != "malformed"]
    partitions = {each.partition for each in judged}
    expected = {own: sorted({one.offset for one in judged if one.partition == own}) for own in partitions}
    assert remembered(memory) == expected


def test_what_is_too_far_back_to_be_read_again_is_forgotten() -> None:
    memory = Refused()
    memory.note([letter(0, 7), letter(1, 7)])
    memory.note([letter(0, PAST_MESSAGES + 2 * CHUNK)])
    assert memory.forget() == [(0, 0)]
    assert remembered(memory) == {0: [PAST_MESSAGES + 2 * CHUNK], 1: [7]}


def test_of_too_many_the_oldest_are_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(refused, "MOST", 3)
    memory = Refused()
    memory.note([letter(partition, chunk * CHUNK) for partition in (0, 1) for chunk in range(3)])
    assert sorted(memory.forget()) == [(0, 0), (1, 0), (1, 1)]
    assert remembered(memory) == {0: [CHUNK, 2 * CHUNK], 1: [2 * CHUNK]}
