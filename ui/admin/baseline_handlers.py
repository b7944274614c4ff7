"""What the page of human baselines does. See :mod:`ui.admin.handlers` for how it treats what the browser sends."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

import gradio as gr
from sqlmodel import Session

from core.accounts import Account, Role
from core.errors import NotFound, SalesfloorError
from core.threads import in_thread
from data.accounts import AccountRepository
from data.baselines import BaselineRepository
from data.scenarios import ScenarioRepository
from ui.admin import values, views
from ui.admin.handlers import Told, require_admin
from ui.messages import message_of
from ui.services import Services
from ui.texts import Texts
from ui.topbar import top_bar

__all__ = ["BaselineHandlers"]

_MAX_NAME: Final = 80
_MAX_QUERY: Final = 500
_MAX_SALES: Final = 500
"""Scenarios for one person: far beyond what anybody sells, and a mistyped query stays harmless."""

Update = tuple[Any, ...]


class BaselineHandlers:
    """The handlers of one interface language.

    Outputs of every change: notice, collections, salespeople, open baselines, name box, query box, confirmation, count.
    """

    def __init__(self, services: Services, texts: Texts, generator: random.Random | None = None) -> None:
        self._services = services
        self._texts = texts
        self._generator = generator or random.SystemRandom()

    async def open_page(self, request: gr.Request) -> Update:
        """Outputs: top bar, then as of every change."""
        try:
            asking = await require_admin(self._services, request)
            shown = await self._shown("")
        except SalesfloorError as error:
            raise gr.Error(message_of(error, self._texts), print_exception=False) from error
        return top_bar(asking, "baselines", self._texts, self._services, request), *shown

    async def preview(self, query: Any, people: Any, request: gr.Request) -> str:
        """How many scenarios a query finds, and how many sales that makes."""
        try:
            await require_admin(self._services, request)
            text, sellers = values.text(query, "query", longest=_MAX_QUERY), values.account_ids(people)

            def count() -> int:
                with self._services.store.reading() as session:
                    return ScenarioRepository(session).search(text, limit=1).total

            n = await in_thread(count)
        except SalesfloorError as error:
            return views.notice_html(message_of(error, self._texts), fault=True)
        return views.hint_html(self._texts("admin.matching", n=n, total=n * len(sellers)))

    async def create(self, name: Any, query: Any, people: Any, request: gr.Request) -> Update:
        """Create a baseline and give every salesperson all of its scenarios, in an order of their own."""

        def change(session: Session) -> str:
            kept = values.text(name, "name", longest=1000)
            if not 1 <= len(kept) <= _MAX_NAME or not kept.isprintable():
                raise Told(self._texts("admin.bad_baseline_name", maximum=_MAX_NAME))
            sellers = self._sellers(session, values.account_ids(people))
            found = ScenarioRepository(session).search(values.text(query, "query", longest=_MAX_QUERY), limit=_MAX_SALES + 1)
            if not found.total:
                raise Told(self._texts("admin.no_match"))
            if found.total > _MAX_SALES:
                raise Told(self._texts("admin.too_many", n=found.total, maximum=_MAX_SALES))
            baselines = BaselineRepository(session)
            if _exists(baselines, kept):
                raise Told(self._texts("admin.baseline_taken"))
            baselines.create(kept)
            scenarios = [item.id for item in found.items]
            for seller in sellers:
                baselines.assign(kept, seller.id, self._generator.sample(scenarios, len(scenarios)))
            return self._texts("admin.created_baseline", name=kept, n=len(scenarios), people=len(sellers))

        return await self._change(request, change, clears_form=True)

    async def close(self, name: Any, sure: Any, request: gr.Request) -> Update:
        def change(session: Session) -> str:
            kept = values.text(name, "baseline", longest=1000)
            if not kept:
                raise Told(self._texts("admin.choose_baseline"))
            if sure is not True:
                raise Told(self._texts("admin.not_sure"))
            BaselineRepository(session).close(kept)
            return self._texts("admin.closed_done", name=kept)

        return await self._change(request, change, clears_form=False)

    # -- inside -------------------------------------------------------------------------------------------------------

    async def _change(self, request: gr.Request, change: Callable[[Session], str], *, clears_form: bool) -> Update:
        try:
            await require_admin(self._services, request)

            def run() -> str:
                with self._services.store.session() as session:
                    return change(session)

            return await self._shown(await in_thread(run), clears_form=clears_form)
        except Told as told:
            return self._faulty(str(told))
        except SalesfloorError as error:
            return self._faulty(message_of(error, self._texts))

    def _faulty(self, text: str) -> Update:
        return views.notice_html(text, fault=True), *(gr.skip() for _ in range(7))

    async def _shown(self, notice: str, *, clears_form: bool = False) -> Update:
        def read() -> tuple[list[views.BaselineView], tuple[Account, ...]]:
            with self._services.store.reading() as session:
                baselines = BaselineRepository(session)
                shown = [views.BaselineView(item, baselines.progress(item.name)) for item in baselines.list()]
                return shown, AccountRepository(session).list()

        shown, accounts = await in_thread(read)
        sellers = [account for account in accounts if Role.SALESPERSON in account.roles and not account.disabled]
        choices = views.account_choices(sellers, self._texts)
        return (
            views.notice_html(notice),
            views.baselines_html(shown, {account.id: account.name for account in accounts}, self._texts),
            gr.update(choices=choices, value=[]) if clears_form else gr.update(choices=choices),
            gr.update(choices=[view.baseline.name for view in shown if view.baseline.is_open], value=None),
            gr.update(value="") if clears_form else gr.skip(),
            gr.update(value="") if clears_form else gr.skip(),
            gr.update(value=False),
            gr.update(value="" if sellers else views.hint_html(self._texts("admin.no_sellers"))),
        )

    def _sellers(self, session: Session, ids: list[int]) -> list[Account]:
        """The accounts, if all of them may sell. Raises Told, NotFound."""
        if not ids:
            raise Told(self._texts("admin.no_people"))
        accounts = AccountRepository(session)
        sellers = [accounts.get(number) for number in ids]
        if any(Role.SALESPERSON not in account.roles or account.disabled for account in sellers):
            raise Told(self._texts("admin.no_people"))
        return sellers


def _exists(baselines: BaselineRepository, name: str) -> bool:
    try:
        baselines.get(name)
    except NotFound:
        return False
    return True
