"""The practice handlers as plain functions: what a hand-made request gets."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from core.accounts import Role
from core.dialogues import Dialogue, Mode
from core.errors import Forbidden
from core.scenarios import Language
from data.practice_store import SqlPracticeStore
from tests.support.running_server import RunningServer, make_services
from ui.practice.handlers import PracticeHandlers
from ui.services import Services
from ui.texts import texts


def asks(name: str | None, **query: str) -> Any:
    return SimpleNamespace(username=name, query_params=query, headers={}, request=None)


async def all_of(stream: AsyncGenerator[Any, None]) -> list[Any]:
    return [item async for item in stream]


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    return make_services(tmp_path_factory.mktemp("practice"))


@pytest.fixture(scope="module")
def house(services: Services) -> RunningServer:
    house = RunningServer("", services, b"")
    house.account("sam", Role.SALESPERSON)
    house.account("sue", Role.SALESPERSON)
    house.account("ann", Role.ANNOTATOR)
    return house


@pytest.fixture
def handlers(house: RunningServer) -> PracticeHandlers:
    return PracticeHandlers(house.services, texts(Language.EN))


async def a_sale(handlers: PracticeHandlers, name: str = "sam") -> str:
    moved = await handlers.start(asks(name, base="fin-deposit-01", language="en", tier="easy"))
    return moved["to"].removeprefix("talk?d=")


def stored(house: RunningServer, dialogue_id: str) -> Dialogue:
    return SqlPracticeStore(house.store).load(dialogue_id)


async def test_a_message_is_stored_and_answered(handlers: PracticeHandlers, house: RunningServer) -> None:
    sale = await a_sale(handlers)
    updates = await all_of(handlers.send({"id": sale, "text": " Hello ", "key": "k" * 32}, asks("sam")))
    assert [turn["text"] for turn in updates[-1][0]["turns"]] == ["Hello", "I see. Tell me more."]
    again = await all_of(handlers.send({"id": sale, "text": "Hello", "key": "k" * 32}, asks("sam")))
    assert len(again[-1][0]["turns"]) == 2
    assert len(stored(house, sale).turns) == 2


@pytest.mark.parametrize("value", [
    None, 7, [], {}, {"id": 5}, {"text": "x"}, {"id": "d", "text": None, "key": "k" * 32},
    {"id": "d", "text": ["x"], "key": "k" * 32},
    {"id": "nothing", "text": "x", "key": "k" * 32}, {"id": {"$ne": 1}, "text": "x", "key": "k" * 32},
])  # fmt: skip
async def test_what_is_not_in_the_form_that_the_page_sends_gets_a_notice(handlers: PracticeHandlers, value: Any) -> None:
    updates = await all_of(handlers.send(value, asks("sam")))
    assert len(updates) == 1
    assert updates[0][0]["t"] == "notice"


@pytest.mark.parametrize("fields", [{"text": ""}, {"text": "   "}, {"text": "x" * 4001}, {"key": "short"}, {"key": "k" * 65}])
async def test_what_cannot_be_stored_changes_nothing(
    handlers: PracticeHandlers, house: RunningServer, fields: dict[str, str]
) -> None:
    sale = await a_sale(handlers)
    updates = await all_of(handlers.send({"id": sale, "text": "Hello", "key": "k" * 32, **fields}, asks("sam")))
    assert updates[0][0]["t"] == "notice"
    assert stored(house, sale).turns == ()


async def test_a_sale_of_somebody_else_does_not_exist(handlers: PracticeHandlers, house: RunningServer) -> None:
    sale = await a_sale(handlers, "sam")
    message = {"id": sale, "text": "Hello", "key": "k" * 32, "index": 0}
    answers = [
        (await all_of(handlers.send(message, asks("sue"))))[0][0],
        (await all_of(handlers.retry(message, asks("sue"))))[0][0],
        (await all_of(handlers.sync(message, asks("sue"))))[0][0],
        (await handlers.finish(message, asks("sue")))[0],
        (await handlers.branch(message, asks("sue")))[0],
        await handlers.hint(message, asks("sue")),
    ]
    missing = (await all_of(handlers.send({**message, "id": "d-none"}, asks("sue"))))[0][0]
    assert all(answer == missing for answer in answers)
    assert not stored(house, sale).is_over
    (opened,) = await all_of(handlers.open_talk(asks("sue", d=sale)))
    assert opened[3] == {"to": ""}


@pytest.mark.parametrize("name", ["ann", "nobody", None, ""])
async def test_who_may_not_sell_gets_nothing(handlers: PracticeHandlers, name: str | None) -> None:
    with pytest.raises((Forbidden, gr.Error)):
        await handlers.board(asks(name))
    with pytest.raises((Forbidden, gr.Error)):
        await handlers.start(asks(name, base="fin-deposit-01", language="en", tier="easy"))
    with pytest.raises(Forbidden):
        await handlers.sessions(asks(name))


@pytest.mark.parametrize("query", [
    {}, {"base": "fin-deposit-01"}, {"base": "fin-deposit-01", "language": "fr", "tier": "easy"},
    {"base": "fin-deposit-01", "language": "en", "tier": "impossible"}, {"base": "x' OR 1=1", "language": "en", "tier": "easy"},
    {"a": "1e9"}, {"a": "-1"}, {"a": "99999"}, {"a": "９"},
])  # fmt: skip
async def test_an_address_that_names_no_sale_leads_back_to_the_board(handlers: PracticeHandlers, query: dict[str, str]) -> None:
    assert (await handlers.brief(asks("sam", **query)))[3] == {"to": ""}
    with pytest.raises(gr.Error):
        await handlers.start(asks("sam", **query))


async def test_a_surprise_hides_the_tier_until_the_end(handlers: PracticeHandlers, house: RunningServer) -> None:
    moved = await handlers.start(asks("sam", base="fin-deposit-01", language="en", tier="surprise"))
    sale = moved["to"].removeprefix("talk?d=")
    first = (await all_of(handlers.open_talk(asks("sam", d=sale))))[-1]
    label = texts(Language.EN)("terms.tier_hidden")
    assert label in first[2]
    _, side = await handlers.finish({"id": sale}, asks("sam"))
    tier = stored(house, sale).tier
    assert tier is not None
    assert texts(Language.EN)(f"terms.tier_{tier.value}") in side
    assert label not in side


@pytest.mark.parametrize("index", [True, "0", 1.0, -1, 1, 99, None])
async def test_a_branch_needs_a_turn_of_the_salesperson(handlers: PracticeHandlers, index: Any) -> None:
    sale = await a_sale(handlers)
    await all_of(handlers.send({"id": sale, "text": "Hello", "key": "k" * 32}, asks("sam")))
    chat, navigator = await handlers.branch({"id": sale, "index": index}, asks("sam"))
    assert chat["t"] == "notice"
    assert "to" not in dict(navigator)


async def test_a_branch_starts_from_the_old_wording(handlers: PracticeHandlers) -> None:
    sale = await a_sale(handlers)
    for key, text in (("a" * 32, "Hello"), ("b" * 32, "Second try")):
        await all_of(handlers.send({"id": sale, "text": text, "key": key}, asks("sam")))
    _, navigator = await handlers.branch({"id": sale, "index": 2}, asks("sam"))
    branch = navigator["to"].removeprefix("talk?d=")
    opened = (await all_of(handlers.open_talk(asks("sam", d=branch))))[-1]
    assert opened[1]["draft"] == "Second try"
    assert [turn["text"] for turn in opened[1]["turns"]] == ["Hello", "I see. Tell me more."]


async def test_a_baseline_sale_has_no_hint_and_no_way_back(handlers: PracticeHandlers, house: RunningServer) -> None:
    with house.store.reading():
        pass
    account = await house.services.account("sam")
    sale = house.dialogue(account, "Hello", mode=Mode.BASELINE).id
    assert (await handlers.hint({"id": sale}, asks("sam")))["t"] == "notice"
    chat, _ = await handlers.branch({"id": sale, "index": 0}, asks("sam"))
    assert chat["t"] == "notice"
    _, side = await handlers.finish({"id": sale}, asks("sam"))
    assert texts(Language.EN)("talk.baseline_thanks") in side
    assert "scorecard" not in side
