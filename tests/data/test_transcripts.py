"""The transcript that a salesperson takes home."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from core.dialogues import Dialogue, EndReason, Mode, Turn
from core.scenarios import Language
from core.scoring import Dimension, Intent
from data.transcript_words import WORDS
from data.transcripts import render_transcript
from tests.support.store_factory import a_card, a_scenario, buyer, later, new_dialogue, seller


def sold(**changes: object) -> Dialogue:
    texts = [seller("Good morning <b>Ellen</b> {{ 7 * 7 }}"), buyer("Hello.\nTwo lines & more", created_at=later(1))]
    turns = [Turn.model_validate({**dict(turn), "index": index, "session": index + 1}) for index, turn in enumerate(texts)]
    over = {"session": 2, "ended_by": EndReason.CUSTOMER, "ended_at": later(2)}
    return new_dialogue(**{"turns": turns, **over, **changes})


class Checker(HTMLParser):
    """Notes what stays open and what refers to other places."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.references += [str(value) for name, value in attrs if name in {"src", "href", "action"}]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("language", Language)
def test_it_is_one_whole_page_that_asks_for_nothing(language: Language) -> None:
    page = render_transcript(sold(), a_card(), language=language)
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.references == []
    assert "url(" not in page
    assert "<script" not in page
    for word in ("goal", "scorecard", "salesperson", "customer", "tier"):
        assert WORDS[language][word] in page


def test_what_was_said_is_shown_as_it_was_said() -> None:
    page = render_transcript(sold())
    assert "Good morning &lt;b&gt;Ellen&lt;/b&gt; {{ 7 * 7 }}" in page
    assert "Two lines &amp; more" in page
    assert "Session 1" in page
    assert "Session 2" in page


def test_nothing_of_the_customers_script_is_in_it() -> None:
    page = render_transcript(sold(), a_card())
    customer = a_scenario().customer
    for secret in (*customer.motivations, *customer.pain_points, a_scenario().tier.style, customer.persona.occupation):
        assert secret not in page


def test_a_baseline_shows_neither_tier_nor_score() -> None:
    page = render_transcript(sold(mode=Mode.BASELINE), a_card())
    assert "hard" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert WORDS[Language.EN]["scorecard"] not in page


def test_the_tier_is_told_only_after_the_end() -> None:
    assert "<dd>hard</dd>" in render_transcript(sold())
    assert "<dd>hard</dd>" not in render_transcript(sold(ended_by=None, ended_at=None))


def test_an_empty_dialogue() -> None:
    page = render_transcript(new_dialogue(scenario=None, scenario_id=None, language="zh"))
    assert WORDS[Language.ZH]["nothing"] in page


def test_both_languages_have_the_same_words() -> None:
    def shape(words: dict[str, object]) -> dict[str, object]:
        return {key: sorted(value) if isinstance(value, dict) else None for key, value in words.items()}

    assert shape(WORDS[Language.EN]) == shape(WORDS[Language.ZH])
    assert set(WORDS[Language.EN]["intents"]) == {intent.value for intent in Intent}
    assert set(WORDS[Language.EN]["dimensions"]) == {dimension.value for dimension in Dimension}
    assert set(WORDS[Language.EN]["endings"]) == {"open", *(reason.value for reason in EndReason)}
