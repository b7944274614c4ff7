"""What the practice pages do when something happens in the browser.

A handler takes nothing on trust: who asks comes from the session, every value from the browser is checked for type and form,
and whose dialogue it is is checked by :class:`core.practice.Practice`. Each can be called as a plain function in a test.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import gradio as gr

from core.accounts import Account
from core.dialogues import Dialogue, Mode
from core.engine import Phase, Snapshot
from core.errors import InvalidInput, NotFound, Problem, SalesfloorError
from core.scenarios import Language, Tier, member_of
from ui.messages import message_of
from ui.practice import views
from ui.services import Services
from ui.texts import Texts
from ui.topbar import top_bar

__all__ = ["PracticeHandlers"]

_PAGE = 50
"""Rows on a page of my sessions."""

Update = tuple[Any, ...]


class PracticeHandlers:
    """The handlers of one interface language."""

    def __init__(self, services: Services, texts: Texts) -> None:
        self._services = services
        self._practice = services.practice
        self._texts = texts

    @property
    def board_head(self) -> str:
        """The same for everybody: it may stand in the page as built."""
        return views.board_head(self._practice.customer, self._practice.max_rounds, self._texts)

    # -- pages ---------------------------------------------------------------------------------------------------------

    async def board(self, request: gr.Request) -> Update:
        account = await self._account(request)
        scenarios, sold = await self._practice.catalogue(account)
        cards = [views.Card.of(scenario, self._texts) for scenario in scenarios]
        assignments = await self._practice.assignments(account)
        return self._top(account, request, "practice"), views.board_value(
            cards, sold, assignments, self._texts, self._practice.max_rounds
        )

    async def brief(self, request: gr.Request) -> Update:
        """Outputs: top bar, script, rules, navigator."""
        account = await self._account(request)
        top = self._top(account, request, "practice")
        query = request.query_params
        try:
            if "a" in query:
                scenario, tier = await self._practice.brief_assignment(account, _number(query["a"], "assignment")), ""
            else:
                base, language, chosen = _sale(query)
                scenario = await self._practice.brief(account, base, language)
                tier = views.SURPRISE if chosen is None else chosen.value
        except (InvalidInput, NotFound):
            return top, gr.skip(), gr.skip(), {"to": ""}
        script = views.brief_html(scenario, tier, self._texts)
        return top, script, views.rules_html(scenario, self._practice.customer, self._practice.max_rounds, self._texts), gr.skip()

    async def start(self, request: gr.Request) -> dict[str, str]:
        """Starts the sale that the address names, and sends the browser to it."""
        account = await self._account(request)
        query = request.query_params
        try:
            if "a" in query:
                dialogue = await self._practice.start_assignment(account, _number(query["a"], "assignment"))
            else:
                dialogue = await self._practice.start(account, *_sale(query))
        except SalesfloorError as error:
            raise gr.Error(message_of(error, self._texts), print_exception=False) from error
        return {"to": views.page_address("talk", d=dialogue.id)}

    async def open_talk(self, request: gr.Request) -> AsyncGenerator[Update, None]:
        """Outputs: top bar, chat, side, navigator."""
        account = await self._account(request)
        dialogue_id = str(request.query_params.get("d", ""))
        top = self._top(account, request, "practice")
        try:
            dialogue = (await self._practice.snapshot(account, dialogue_id)).dialogue
        except NotFound:
            yield top, gr.skip(), gr.skip(), {"to": ""}
            return
        draft = _draft(dialogue)
        async with aclosing(self._follow(account, dialogue_id, draft=draft)) as updates:
            async for chat, side in updates:
                yield top, chat, side, gr.skip()
                top = gr.skip()

    async def sessions(self, request: gr.Request) -> Update:
        account = await self._account(request)
        try:
            offset = _number(request.query_params.get("offset", "0"), "offset")
        except InvalidInput:
            offset = 0
        rows, total = await self._practice.sessions(account, offset=offset, limit=_PAGE)
        return self._top(account, request, "sessions"), views.sessions_html(rows, total, offset, _PAGE, self._texts)

    # -- the conversation; outputs: chat, side ---------------------------------------------------------------------------

    async def send(self, value: Any, request: gr.Request) -> AsyncGenerator[Update, None]:
        account = await self._account(request)
        try:
            dialogue_id, text, key = _text(value, "id"), _text(value, "text"), _text(value, "key")
            await self._practice.say(account, dialogue_id, text, key)
        except SalesfloorError as error:
            yield {"t": "notice", "text": message_of(error, self._texts)}, gr.skip()
            return
        async with aclosing(self._follow(account, dialogue_id)) as updates:
            async for update in updates:
                yield update

    async def retry(self, value: Any, request: gr.Request) -> AsyncGenerator[Update, None]:
        account = await self._account(request)
        try:
            dialogue_id = _text(value, "id")
            await self._practice.resume(account, dialogue_id)
        except SalesfloorError as error:
            yield {"t": "notice", "text": message_of(error, self._texts)}, gr.skip()
            return
        async with aclosing(self._follow(account, dialogue_id)) as updates:
            async for update in updates:
                yield update

    async def sync(self, value: Any, request: gr.Request) -> AsyncGenerator[Update, None]:
        """Tell a page that has lost touch how things stand."""
        account = await self._account(request)
        try:
            async with aclosing(self._follow(account, _text(value, "id"))) as updates:
                async for update in updates:
                    yield update
        except SalesfloorError as error:
            yield {"t": "notice", "text": message_of(error, self._texts)}, gr.skip()

    async def finish(self, value: Any, request: gr.Request) -> Update:
        account = await self._account(request)
        try:
            dialogue = await self._practice.finish(account, _text(value, "id"))
            return await self._settled(account, Snapshot(dialogue, Phase.OVER))
        except SalesfloorError as error:
            return {"t": "notice", "text": message_of(error, self._texts)}, gr.skip()

    async def hint(self, value: Any, request: gr.Request) -> dict[str, Any]:
        """Output: chat. A hint, because it was asked for."""
        account = await self._account(request)
        try:
            hint = await self._practice.hint(account, _text(value, "id"))
        except SalesfloorError as error:
            return {"t": "notice", "text": message_of(error, self._texts)}
        return {"t": "hint", "text": views.hint_text(hint, self._texts)}

    async def branch(self, value: Any, request: gr.Request) -> Update:
        """Outputs: chat, navigator. The old wording travels in the address of the parent's turn, not as text."""
        account = await self._account(request)
        try:
            dialogue_id = _text(value, "id")
            index = value.get("index")
            if type(index) is not int:
                raise InvalidInput(Problem("turn", "it is not a number"))
            branch = await self._practice.branch(account, dialogue_id, index)
        except SalesfloorError as error:
            return {"t": "notice", "text": message_of(error, self._texts)}, gr.skip()
        return gr.skip(), {"to": views.page_address("talk", d=branch.id)}

    # -- inside ----------------------------------------------------------------------------------------------------------

    async def _account(self, request: gr.Request) -> Account:
        return await self._services.account(request.username)

    def _top(self, account: Account, request: gr.Request, page: str) -> str:
        return top_bar(account, page, self._texts, self._services, request)

    async def _follow(self, account: Account, dialogue_id: str, *, draft: str = "") -> AsyncGenerator[Update, None]:
        """The whole dialogue once, then only the text that comes in, then the whole again: a long history is sent twice, not
        eight times a second.
        """
        sent = False
        async with aclosing(self._practice.follow(account, dialogue_id)) as snapshots:
            async for snapshot in snapshots:
                if snapshot.phase is not Phase.ANSWERING:
                    chat, side = await self._settled(account, snapshot, draft=draft)
                    yield chat, side
                elif not sent:
                    yield views.chat_value(snapshot, self._texts), await self._side(account, snapshot.dialogue)
                else:
                    yield {"t": "partial", "text": snapshot.partial}, gr.skip()
                sent = True

    async def _settled(self, account: Account, snapshot: Snapshot, *, draft: str = "") -> Update:
        return views.chat_value(snapshot, self._texts, draft), await self._side(account, snapshot.dialogue)

    async def _side(self, account: Account, dialogue: Dialogue) -> str:
        outcome = await self._outcome(account, dialogue) if dialogue.is_over else ""
        family = await self._practice.family(account, dialogue.id)
        return views.side_html(dialogue, outcome, family, self._texts)

    async def _outcome(self, account: Account, dialogue: Dialogue) -> str:
        if dialogue.mode is Mode.BASELINE:
            waiting = [a for a in await self._practice.assignments(account) if not a.done]
            return views.outcome_html(dialogue, None, None, waiting[0] if waiting else None, self._texts)
        card = await self._practice.scorecard(account, dialogue.id)
        hidden = await self._practice.reveal(account, dialogue.id)
        return views.outcome_html(dialogue, card, hidden, None, self._texts)


def _draft(dialogue: Dialogue) -> str:
    """In a branch that was not gone on with yet: what was said there the first time, to start from."""
    return str(dialogue.meta.get("draft", "")) if len(dialogue.turns) == dialogue.branch_index else ""


def _text(value: Any, key: str) -> str:
    """A text from the browser's message. Raises InvalidInput."""
    text = value.get(key) if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise InvalidInput(Problem(key, "it is missing or not a text"))
    return text


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise InvalidInput(Problem(name, f"{text[:40]!r} is not a number"))
    return int(text)


def _sale(query: Any) -> tuple[str, Language, Tier | None]:
    """Base, language and tier from the address. Raises InvalidInput."""
    language, tier = member_of(Language, query.get("language")), member_of(Tier, query.get("tier"))
    if language is None or (tier is None and query.get("tier") != views.SURPRISE):
        raise InvalidInput(Problem("address", "it names no language or no tier"))
    return str(query.get("base", "")), language, tier
