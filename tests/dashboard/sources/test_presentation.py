"""Messages as pages show them."""

from hypothesis import given
from hypothesis import strategies as st

from dashboard.sources.kafka import Message
from dashboard.sources.presentation import TEXT_LENGTH, WHOLE_LENGTH, present


def shown(value: bytes | None, key: bytes | None = None):
    return present(Message(partition=1, offset=2, timestamp=1_000, key=key, value=value), value)


def test_an_object_is_shown_as_pairs_with_their_kind() -> None:
    message = shown(b'{"status": 200, "route": "/a", "ok": true, "user": {"id": 1}}')
    assert [(pair.name, pair.value, pair.kind) for pair in message.pairs] == [
        ("status", "200", "number"),
        ("route", "/a", "text"),
        ("ok", "true", "word"),
        ("user", '{"id":1}', "word"),
    ]
    assert '"route": "/a"' in message.whole


def test_numbers_keep_all_their_digits() -> None:
    message = shown(b'{"price": 12.50, "exact": 12345678901234567890.123, "all": [0.10]}')
    assert [pair.value for pair in message.pairs] == ["12.50", "12345678901234567890.123", "[0.10]"]
    assert [pair.kind for pair in message.pairs] == ["number", "number", "word"]
    assert '"exact": 12345678901234567890.123' in message.whole


def test_bytes_that_are_no_text_are_shown_in_hexadecimal() -> None:
    assert shown(b"\xff\x00\x10").text == "ff 00 10"
    assert shown(b"{}", key=b"\xfe").key == "fe"


def test_a_tombstone_says_what_it_is() -> None:
    assert shown(None).text == "tombstone: key deleted, no value"


def test_control_characters_do_not_reach_the_page() -> None:
    assert "\x1b" not in shown(b"a\x1b[31m").text


@given(st.none() | st.binary(max_size=20_000))
def test_any_message_is_shown_and_cut_to_size(value: bytes | None) -> None:
    message = shown(value)
    assert len(message.text) <= 3 * TEXT_LENGTH
    assert len(message.whole) <= WHOLE_LENGTH
