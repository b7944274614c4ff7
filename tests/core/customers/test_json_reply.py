"""Reading the structured reply while it streams."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.customers._json_reply import ReplyExtractor, parse_reply

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OTHER_KEYS = st.dictionaries(TEXTS.filter(lambda key: key not in {"reply", "ends_conversation"}), VALUES, max_size=3)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, str, bool]:
    """A JSON object with a reply somewhere among other keys, written in various ways."""
    reply, ends = draw(TEXTS), draw(st.booleans())
    items: list[tuple[str, Any]] = [*draw(OTHER_KEYS).items(), ("reply", reply), ("ends_conversation", ends)]
    items = draw(st.permutations(items))
    text = json.dumps(dict(items), ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 2])))
    return draw(st.sampled_from(["", " \n", "```json\n"])) + text, reply, ends


def feed(extractor: ReplyExtractor, text: str, cuts: list[int]) -> str:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return "".join(extractor.feed(text[start:stop]) for start, stop in pairwise(places))


@given(documents(), st.lists(st.integers(min_value=0, max_value=10_000), max_size=12))
def test_whatever_the_pieces_the_text_is_the_reply(document: tuple[str, str, bool], cuts: list[int]) -> None:
    text, reply, ends = document
    assert feed(ReplyExtractor(), text, cuts) == reply
    parsed = parse_reply(text)
    assert (parsed.reply, parsed.ends_conversation) == (reply, ends)


@given(documents())
def test_character_by_character_it_only_ever_grows_towards_the_reply(document: tuple[str, str, bool]) -> None:
    text, reply, _ = document
    extractor, so_far = ReplyExtractor(), ""
    for character in text:
        so_far += extractor.feed(character)
        assert reply.startswith(so_far)


@given(st.text(max_size=80), st.lists(st.integers(min_value=0), max_size=5))
def test_nonsense_raises_nothing_while_it_streams(text: str, cuts: list[int]) -> None:
    feed(ReplyExtractor(), text, cuts)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\ud83d\ude00", "😀"),
        (r"a\ud83d\ude00b", "a😀b"),
        (r"\ud83d", "\ufffd"),
        (r"\ud83dx", "\ufffdx"),
        (r"\ude00", "\ufffd"),
        (r"\ud83d\ud83d\ude00", "\ufffd😀"),
        (r"\u4f60\u597d", "你好"),
        (r"\"Hi\"\\ \/ \n\t", '"Hi"\\ / \n\t'),
    ],
)
def test_escapes_are_decoded_alike_streamed_and_whole(written: str, read: str) -> None:
    text = '{"reply": "' + written + '", "ends_conversation": true}'
    extractor = ReplyExtractor()
    assert "".join(extractor.feed(character) for character in text) == read
    assert parse_reply(text).reply == read


def test_a_reply_inside_another_value_is_not_the_reply() -> None:
    text = '{"thought": {"reply": "no"}, "list": ["reply", {"reply": "no"}], "reply": "yes", "ends_conversation": false}'
    assert ReplyExtractor().feed(text) == "yes"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Well, no.", "no JSON object"),
        ('{"reply": "I would', "breaks off"),
        ('{"ends_conversation": true}', "reply"),
        ('{"reply": 5}', "reply"),
        ('{"reply": "x", "ends_conversation": "yes"}', "ends_conversation"),
        ("", "no JSON object"),
    ],
)
def test_what_is_not_in_the_agreed_form_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        parse_reply(text)


def test_a_missing_end_means_that_it_goes_on() -> None:
    assert not parse_reply('```json\n{"reply": "Hm."}\n```').ends_conversation
