"""What the Accounts page does. Each handler asks again who asks, and checks every value: a hand-made request gets nothing more.

The handlers are methods that can be called as plain functions in a test, with anything that has a ``username`` as the request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

import gradio as gr
from sqlmodel import Session

from core.accounts import Account, Audience
from core.dialogues import utc_now
from core.errors import Forbidden, InvalidInput, NotFound, Refused, SalesfloorError
from core.threads import in_thread
from data.accounts import LINK_LIFETIME, AccountRepository
from ui.admin import values, views
from ui.messages import message_of
from ui.services import Services
from ui.texts import Texts
from ui.topbar import top_bar

__all__ = ["MAX_NAME", "AccountHandlers", "Told", "require_admin"]

MAX_NAME: Final = 64

T = TypeVar("T")
Update = tuple[Any, ...]


class Told(Exception):
    """Carries a sentence for the reader: nothing was changed, and why."""


async def require_admin(services: Services, request: gr.Request) -> Account:
    """The admin who asks. Raises Forbidden for everybody else."""
    account = await services.account(request.username)
    if not account.may_open(Audience.ADMIN):
        raise Forbidden(f"account {account.name!r} may not administer")
    return account


@dataclass(frozen=True)
class _Done:
    """What a change leaves to tell and to show."""

    notice: str = ""
    chosen: int | None = None
    link: str = ""
    clears_form: bool = False


class AccountHandlers:
    """The handlers of one interface language.

    Outputs of every change: notice, table, account list, its roles, disable button, enable button, link, name box, roles box.
    """

    def __init__(self, services: Services, texts: Texts) -> None:
        self._services = services
        self._texts = texts

    async def open_page(self, request: gr.Request) -> Update:
        """Outputs: top bar, then as of every change. The address may name the account to change (``?account=3``)."""
        try:
            asking = await require_admin(self._services, request)
            try:
                chosen = values.account_id(dict(request.query_params).get("account"))
            except InvalidInput:
                chosen = None
            shown = await self._shown(asking, _Done(chosen=chosen))
        except SalesfloorError as error:
            raise gr.Error(message_of(error, self._texts), print_exception=False) from error
        return top_bar(asking, "accounts", self._texts, self._services, request), *shown

    async def choose(self, chosen: Any, request: gr.Request) -> Update:
        """Show another account's roles and state."""
        return await self._change(request, chosen, lambda _, account: _Done(chosen=None if account is None else account.id))

    async def add(self, name: Any, roles: Any, request: gr.Request) -> Update:
        """Add an account and make its first one-time link."""

        def change(session: Session, _: Account | None) -> _Done:
            accounts = AccountRepository(session)
            kept, wanted = values.text(name, "name", longest=200), values.chosen_roles(roles)
            if not wanted:
                raise Told(self._texts("admin.no_role"))
            if _exists(accounts, kept):
                raise Told(self._texts("admin.name_taken"))
            try:
                account = accounts.add(kept, wanted)
            except InvalidInput as error:
                raise Told(self._texts("admin.bad_name", maximum=MAX_NAME)) from error
            link = self._link(accounts, account, request)
            return _Done(self._texts("admin.added", name=account.name), account.id, link, clears_form=True)

        return await self._change(request, None, change)

    async def save_roles(self, chosen: Any, roles: Any, request: gr.Request) -> Update:
        def change(session: Session, account: Account | None) -> _Done:
            account = self._required(account)
            wanted = values.chosen_roles(roles)
            if not wanted:
                raise Told(self._texts("admin.no_role"))
            changed = self._unless_last_admin(lambda: AccountRepository(session).set_roles(account.id, wanted))
            names = ", ".join(views.role_names(changed.roles, self._texts))
            return _Done(self._texts("admin.roles_saved", name=account.name, roles=names), account.id)

        return await self._change(request, chosen, change)

    async def make_link(self, chosen: Any, request: gr.Request) -> Update:
        def change(session: Session, account: Account | None) -> _Done:
            account = self._required(account)
            if account.disabled:
                raise Told(self._texts("admin.is_disabled", name=account.name))
            return _Done("", account.id, self._link(AccountRepository(session), account, request))

        return await self._change(request, chosen, change)

    async def disable(self, chosen: Any, request: gr.Request) -> Update:
        def change(session: Session, account: Account | None) -> _Done:
            account = self._required(account)
            self._unless_last_admin(lambda: AccountRepository(session).disable(account.id))
            return _Done(self._texts("admin.disabled_done", name=account.name), account.id)

        return await self._change(request, chosen, change)

    async def enable(self, chosen: Any, request: gr.Request) -> Update:
        def change(session: Session, account: Account | None) -> _Done:
            account = self._required(account)
            AccountRepository(session).enable(account.id)
            return _Done(self._texts("admin.enabled_done", name=account.name), account.id)

        return await self._change(request, chosen, change)

    async def end_sessions(self, chosen: Any, request: gr.Request) -> Update:
        def change(session: Session, account: Account | None) -> _Done:
            account = self._required(account)
            AccountRepository(session).end_all_web_sessions(account.id)
            return _Done(self._texts("admin.sessions_ended", name=account.name), account.id)

        return await self._change(request, chosen, change)

    # -- inside -------------------------------------------------------------------------------------------------------

    async def _change(self, request: gr.Request, chosen: Any, change: Callable[[Session, Account | None], _Done]) -> Update:
        """Run a change of the chosen account in one transaction, then show the page as it stands."""
        kept: int | None = None
        try:
            await require_admin(self._services, request)
            kept = values.account_id(chosen)

            def run() -> _Done:
                with self._services.store.session() as session:
                    account = None if kept is None else AccountRepository(session).get(kept)
                    return change(session, account)

            done = await in_thread(run)
            # Whoever took the role from themselves just now is shown nothing more.
            return await self._shown(await require_admin(self._services, request), done)
        except Told as told:
            return await self._faulty(request, str(told), kept)
        except SalesfloorError as error:
            return await self._faulty(request, message_of(error, self._texts), kept)

    async def _faulty(self, request: gr.Request, text: str, chosen: int | None) -> Update:
        """The page as it is, and why nothing was changed; to those who are no admin, or no longer, only that."""
        notice = views.notice_html(text, fault=True)
        try:
            shown = await self._shown(await require_admin(self._services, request), _Done(chosen=chosen))
        except SalesfloorError:
            return notice, *(gr.skip() for _ in range(8))
        return notice, *shown[1:]

    async def _shown(self, asking: Account, done: _Done) -> Update:
        def read() -> tuple[tuple[Account, ...], dict[int, datetime]]:
            with self._services.store.reading() as session:
                accounts = AccountRepository(session)
                return accounts.list(), accounts.last_seen()

        accounts, seen = await in_thread(read)
        chosen = next((account for account in accounts if account.id == done.chosen), None)
        roles = [] if chosen is None else sorted(role.value for role in chosen.roles)
        return (
            views.notice_html(done.notice),
            views.accounts_html(accounts, seen, asking, self._texts, chosen=done.chosen),
            gr.update(choices=views.account_choices(accounts, self._texts), value=None if chosen is None else str(chosen.id)),
            gr.update(value=roles),
            gr.update(visible=chosen is None or not chosen.disabled),
            gr.update(visible=chosen is not None and chosen.disabled),
            gr.update(value=done.link, visible=bool(done.link)),
            gr.update(value="") if done.clears_form else gr.skip(),
            gr.update(value=[]) if done.clears_form else gr.skip(),
        )

    def _required(self, account: Account | None) -> Account:
        if account is None:
            raise Told(self._texts("admin.choose_first"))
        return account

    def _unless_last_admin(self, change: Callable[[], T]) -> T:
        try:
            return change()
        except Refused as error:
            raise Told(self._texts("admin.last_admin")) from error

    def _link(self, accounts: AccountRepository, account: Account, request: gr.Request) -> str:
        token = accounts.issue_link(account.name)
        address = f"{_origin(request)}/link/{token}"
        return views.link_html(account, address, utc_now() + LINK_LIFETIME, self._texts)


def _exists(accounts: AccountRepository, name: str) -> bool:
    try:
        accounts.by_name(name)
    except NotFound:
        return False
    return True


def _origin(request: gr.Request) -> str:
    """Scheme and host as the admin's own browser names this server. The gate has compared them with the request's origin."""
    origin = dict(request.headers).get("origin")
    return origin if isinstance(origin, str) else ""
