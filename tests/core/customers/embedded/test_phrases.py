"""The phrase banks: complete, varied, and in the customer's role."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from core.customers.embedded.acts import CustomerAct
from core.customers.embedded.phrases import MOODS, PhraseBank, load_phrases
from core.customers.embedded.wording import sentences
from core.customers.guards import inspect_reply
from core.scenarios import Language

LANGUAGES = list(Language)

# Acts that the scenario's own lines word; the bank helps out under another name.
OWN_WORDS = {
    CustomerAct.OPEN: "greet",
    CustomerAct.STATE_NEED: None,
    CustomerAct.STATE_SITUATION: None,
    CustomerAct.DISCLOSE: "remind",
    CustomerAct.ASK: "ask_again",
    CustomerAct.OBJECT: "object_again",
    CustomerAct.INSIST: "object_again",
    CustomerAct.PUSH_BACK: "push_back_again",
    CustomerAct.SOFTEN: None,
    CustomerAct.AGREE_STEP: None,
    CustomerAct.COMMIT: None,
}

SELLER_TALK = re.compile(
    r"how (can|may) i (help|assist)|anything else i can (do|help)|let me know if you (have|need)|"
    r"our (product|plan|offer|rate)s?\b|"
    r"i (can|could) offer you|i('d| would) (recommend|suggest) (our|the)|we offer|happy to help|"
    r"有什么(可以|能)帮|为您服务|我们的(产品|优惠|利率)|给您推荐|我可以为|我们(提供|推出)|欢迎选购|亲，",
    re.IGNORECASE,
)


@pytest.fixture(params=LANGUAGES, ids=[language.value for language in LANGUAGES])
def bank(request: pytest.FixtureRequest) -> PhraseBank:
    return load_phrases(request.param)


@pytest.mark.parametrize("act", list(CustomerAct))
def test_every_act_has_at_least_five_phrases_in_every_mood(bank: PhraseBank, act: CustomerAct) -> None:
    name = OWN_WORDS.get(act, act.value)
    if name is None:
        key = {
            "state_need": "need",
            "state_situation": "situation",
            "soften": "eased",
            "agree_step": "step",
            "commit": "commitment",
        }
        assert len(bank.again[key[act.value]]) >= 5
        return
    moods = bank.phrases[name]
    for mood in MOODS:
        fitting = len(moods.get(mood, ())) + (len(moods.get("any", ())) if mood != "hostile" or "hostile" not in moods else 0)
        if act in (CustomerAct.LEAVE_ANGRY, CustomerAct.MISFIT, CustomerAct.OFFENDED) or fitting:
            assert fitting >= 5 or sum(map(len, moods.values())) >= 5, (name, mood)


def test_no_phrase_and_no_longer_sentence_stands_twice(bank: PhraseBank) -> None:
    phrases = Counter(bank.spoken())
    assert [phrase for phrase, count in phrases.items() if count > 1] == []
    longer = 4 if bank.language is Language.ZH else 16
    counts = Counter(sentence for phrase in phrases for sentence in sentences(phrase) if len(sentence) > longer)
    assert [sentence for sentence, count in counts.items() if count > 1] == []


def test_nobody_plays_the_seller(bank: PhraseBank) -> None:
    assert [phrase for phrase in bank.spoken() if SELLER_TALK.search(phrase)] == []
    assert [finding for phrase in bank.spoken() for finding in inspect_reply(phrase, bank.language)] == []


def test_phrases_are_whole_sentences(bank: PhraseBank) -> None:
    for phrase in bank.spoken():
        assert phrase == phrase.strip()
        assert phrase[-1] in ".?!。？！…", phrase
        assert "  " not in phrase


def test_chinese_keeps_to_chinese_marks() -> None:
    for phrase in load_phrases(Language.ZH).spoken():
        text = re.sub(r"\{\w+\}", "", phrase)
        assert not re.search(r"[A-Za-z,;?!]", text), phrase


def test_reasons_are_the_same_in_both_languages() -> None:
    english, chinese = load_phrases(Language.EN).reasons, load_phrases(Language.ZH).reasons
    assert english.keys() == chinese.keys()
    slots = [sorted(re.findall(r"\{(\w+)\}", reasons[key])) for key in english for reasons in (english, chinese)]
    assert slots[::2] == slots[1::2]


def test_both_banks_have_the_same_shape() -> None:
    english, chinese = load_phrases(Language.EN), load_phrases(Language.ZH)
    assert english.phrases.keys() == chinese.phrases.keys()
    assert {name: moods.keys() for name, moods in english.phrases.items()} == {n: m.keys() for n, m in chinese.phrases.items()}
    assert {name: moods.keys() for name, moods in english.leads.items()} == {n: m.keys() for n, m in chinese.leads.items()}
    assert english.again.keys() == chinese.again.keys()
