"""Only spoken words are left of what a model writes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.customers._speech import SpeechFilter


def spoken(text: str, cuts: list[int] | None = None) -> str:
    speech, pieces = SpeechFilter("Ellen Marsh"), []
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts or []), len(text)]
    pieces = [speech.feed(text[start:stop]) for start, stop in pairwise(places)]
    return "".join([*pieces, speech.finish()])


CASES = [
    ("Well, what would that cost?", "Well, what would that cost?"),
    ("  Well.\n", "Well."),
    ("*sighs* I don't know.", "I don't know."),
    ("Fine. *nods slowly* Call me (pauses) on Thursday.", "Fine. Call me on Thursday."),
    ("[laughs] No.", "No."),
    ("I'll think about it. *hangs up*", "I'll think about it."),
    ("（叹了口气）我再想想。", "我再想想。"),
    ("行吧【沉默片刻】那就周六。", "行吧那就周六。"),
    ("*皱了皱眉* 这也太贵了。", "这也太贵了。"),
    ("Customer: Hello there.", "Hello there."),
    ("**Customer:** Hello there.", "Hello there."),
    ("Ellen Marsh: Hello there.", "Hello there."),
    ("客户：多少钱？", "多少钱？"),
    ('"What would that cost?"', "What would that cost?"),
    ("“行吧。”", "行吧。"),
    ("<think>They push me.\nResist.</think>\n\nNot today.", "Not today."),
    ("I *really* need it.", "I really need it."),
    ("That is a **bold** claim.", "That is a bold claim."),
]

KEPT = [
    '"Cheap" is what they all say.',
    "“保底”这两个字我听多了。",
    "I need it soon (by Friday, say).",
    "5 * 3 is 15, not 16.",
    "Custom orders cost more?",
    "Customers before me were happy, you say?",
    "客户服务怎么样？",
    "我家（两个孩子）开销不小。",
    "The plan [the cheap one] is enough.",
]


@pytest.mark.parametrize(("written", "said"), CASES)
def test_takes_off_what_is_not_spoken(written: str, said: str) -> None:
    assert spoken(written) == said


@pytest.mark.parametrize("text", KEPT)
def test_leaves_speech_as_it_is(text: str) -> None:
    assert spoken(text) == text


def test_a_reply_of_nothing_but_a_stage_direction_is_empty() -> None:
    assert spoken("*sighs*") == ""


PIECES = st.sampled_from(
    [
        "*",
        "**",
        "(",
        ")",
        "（",
        "）",
        "[",
        "]",
        '"',
        "“",
        "”",
        "sighs",
        "nods",
        "叹气",
        "Customer",
        ":",
        "：",
        "客户",
        " ",
        "\n",
        "no",
        "好",
        ".",
        "<think>",
        "</think>",
        "Ellen",
        " Marsh",
    ]
)


@given(st.lists(PIECES, max_size=14).map("".join), st.lists(st.integers(min_value=0, max_value=1000), max_size=8))
def test_how_the_text_is_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    assert spoken(text, cuts) == spoken(text)


@given(st.text(max_size=80))
def test_never_raises_and_never_leaves_blanks_at_the_ends(text: str) -> None:
    said = spoken(text)
    assert said == said.strip()
