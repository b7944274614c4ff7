"""Signing in and out: by password, by one-time link; setting a password; choosing the language."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from core.accounts import Account
from core.errors import Forbidden, NotFound, SalesfloorError
from core.scenarios import Language
from core.threads import in_thread
from data.accounts import AccountRepository, sign_in
from data.passwords import MIN_PASSWORD_CHARACTERS, hash_password
from ui.identity import Identity
from ui.messages import message_of
from ui.own_pages import error_page, message_page, own_page, visitor_of
from ui.rooms import first_room, localised, safe_next, sign_in_address
from ui.services import Services
from ui.texts import texts
from ui.throttle import Throttle

__all__ = ["SignIn", "routes"]

_MAX_PASSWORD: Final = 1024
_HASHES_AT_ONCE: Final = 2  # each takes 64 MiB and a core for some tens of milliseconds

Text = Annotated[str, Form()]


@dataclass(frozen=True)
class Throttles:
    """Failures are counted by name, so that one account is not guessed from many addresses, and by address."""

    name: Throttle
    address: Throttle

    @classmethod
    def usual(cls) -> Throttles:
        return cls(name=Throttle(failures=8), address=Throttle(failures=30))

    def minutes_left(self, name: str, address: str) -> int:
        return max(self.name.minutes_left(name), self.address.minutes_left(address))

    def note(self, name: str, address: str) -> None:
        self.name.note(name)
        self.address.note(address)

    def forgive(self, name: str, address: str) -> None:
        self.name.forgive(name)
        self.address.forgive(address)


class SignIn:
    """What the routes below do."""

    def __init__(self, services: Services, identity: Identity, throttles: Throttles | None = None) -> None:
        self._store = services.store
        self._identity = identity
        self._throttles = throttles or Throttles.usual()
        self._hashing = anyio.CapacityLimiter(_HASHES_AT_ONCE)

    async def home(self, request: Request) -> Response:
        """Leads to the first room that the account may open."""
        visitor = visitor_of(request)
        if visitor.account is None:
            return RedirectResponse("/sign-in", 303)
        room = first_room(visitor.account, visitor.language)
        if room is not None:
            return RedirectResponse(room, 303)
        t = texts(visitor.language)
        roles = ", ".join(t(f"shell.role_{role.value}") for role in sorted(visitor.account.roles))
        return message_page(visitor, t("shell.no_room_title"), t("shell.no_room", roles=roles), t("shell.no_room_help"))

    # -- by password --------------------------------------------------------------------------------------------------

    async def sign_in_page(self, request: Request, wanted: str) -> Response:
        if visitor_of(request).account is not None:
            return self._onward(request, wanted)
        return self._sign_in_form(request, wanted)

    async def sign_in(self, request: Request, name: str, password: str, wanted: str) -> Response:
        visitor = visitor_of(request)
        t = texts(visitor.language)
        key, address = _throttle_key(name), _address(request)
        minutes = self._throttles.minutes_left(key, address)
        if minutes:
            fault = t("signin.too_many", minutes=minutes)
            response = self._sign_in_form(request, wanted, name=name, fault=fault, status=429)
            response.headers["retry-after"] = str(60 * minutes)
            return response
        self._throttles.note(key, address)
        account = await anyio.to_thread.run_sync(
            lambda: sign_in(self._store, name[:200], password[: _MAX_PASSWORD + 1]), limiter=self._hashing
        )
        if account is None:
            return self._sign_in_form(request, wanted, name=name, fault=t("signin.wrong"), status=401)
        self._throttles.forgive(key, address)
        response = self._onward(request, wanted, account)
        await self._identity.sign_in(response, request, account)
        return response

    def _sign_in_form(self, request: Request, wanted: str, *, name: str = "", fault: str = "", status: int = 200) -> Response:
        return own_page(visitor_of(request), "sign_in", status, next=safe_next(wanted), name=name[:64], fault=fault)

    # -- by one-time link ---------------------------------------------------------------------------------------------

    async def link_page(self, request: Request) -> Response:
        """Only a button: programs that look at links in messages ahead of people must not use them up."""
        return own_page(visitor_of(request), "link")

    async def use_link(self, request: Request, token: str) -> Response:
        visitor = visitor_of(request)
        t = texts(visitor.language)
        address = _address(request)
        minutes = self._throttles.address.minutes_left(address)
        if minutes:
            return message_page(visitor, t("signin.link_dead_title"), t("signin.too_many", minutes=minutes), status=429)
        self._throttles.address.note(address)

        def redeem() -> Account:
            with self._store.session() as session:
                return AccountRepository(session).redeem_link(token[:200])

        try:
            account = await in_thread(redeem)
        except (Forbidden, NotFound):
            said = (t("signin.link_dead"), t("signin.link_dead_help"))
            way_out = (sign_in_address("/"), t("signin.title"))
            return message_page(visitor, t("signin.link_dead_title"), *said, status=410, actions=(way_out,))
        self._throttles.address.forgive(address)
        response = RedirectResponse("/set-password", 303)
        await self._identity.sign_in(response, request, account)
        self._identity.note_link(response, request, account)
        return response

    # -- the password -------------------------------------------------------------------------------------------------

    async def password_page(self, request: Request, wanted: str) -> Response:
        if visitor_of(request).account is None:
            return RedirectResponse(sign_in_address("/set-password"), 303)
        return self._password_form(request, wanted)

    async def set_password(self, request: Request, current: str, password: str, wanted: str) -> Response:
        visitor = visitor_of(request)
        account = visitor.account
        if account is None:
            return RedirectResponse(sign_in_address("/set-password"), 303)
        t = texts(visitor.language)
        if self._must_know_current(request, account):
            fault = await self._check_current(request, account, current)
            if fault:
                return self._password_form(request, wanted, fault=fault, status=401)
        if not MIN_PASSWORD_CHARACTERS <= len(password) <= _MAX_PASSWORD:
            fault = t("signin.password_length", minimum=MIN_PASSWORD_CHARACTERS, maximum=_MAX_PASSWORD)
            return self._password_form(request, wanted, fault=fault, status=422)
        if _throttle_key(password) == _throttle_key(account.name):
            return self._password_form(request, wanted, fault=t("signin.password_is_name"), status=422)
        hashed = await anyio.to_thread.run_sync(lambda: hash_password(password), limiter=self._hashing)

        def store() -> None:
            with self._store.session() as session:
                AccountRepository(session).set_password(account.id, hashed)

        try:
            await in_thread(store)
        except SalesfloorError as error:
            return self._password_form(request, wanted, fault=message_of(error, t), status=503)
        onward = (self._onward_address(request, wanted, account), t("signin.continue"))
        response = message_page(visitor, t("signin.password_saved_title"), t("signin.password_saved"), actions=(onward,))
        # Setting the password signs the account out everywhere; this browser goes on.
        await self._identity.sign_in(response, request, account)
        return response

    def _must_know_current(self, request: Request, account: Account) -> bool:
        return account.has_password and not self._identity.came_by_link(request, account)

    async def _check_current(self, request: Request, account: Account, current: str) -> str:
        """What to say if the current password is not right, or empty."""
        t = texts(visitor_of(request).language)
        key, address = _throttle_key(account.name), _address(request)
        minutes = self._throttles.minutes_left(key, address)
        if minutes:
            return t("signin.too_many", minutes=minutes)
        self._throttles.note(key, address)
        same = await anyio.to_thread.run_sync(
            lambda: sign_in(self._store, account.name, current[: _MAX_PASSWORD + 1]), limiter=self._hashing
        )
        if same is None or same.id != account.id:
            return t("signin.wrong_current")
        self._throttles.forgive(key, address)
        return ""

    def _password_form(self, request: Request, wanted: str, *, fault: str = "", status: int = 200) -> Response:
        visitor = visitor_of(request)
        account = visitor.account
        if account is None:
            return error_page(visitor, 403)
        return own_page(
            visitor,
            "password",
            status,
            account=account,
            has_password=account.has_password,
            ask_current=self._must_know_current(request, account),
            minimum=MIN_PASSWORD_CHARACTERS,
            next=self._onward_address(request, wanted, account),
            fault=fault,
        )

    # -- out, language ------------------------------------------------------------------------------------------------

    async def sign_out(self, request: Request) -> Response:
        response = RedirectResponse("/sign-in", 303)
        await self._identity.sign_out(response, request)
        return response

    async def choose_language(self, request: Request, code: str, wanted: str | None) -> Response:
        """Changes the language and comes back: to ``wanted``, else to the page that the link stood on."""
        visitor = visitor_of(request)
        if code not in frozenset(Language):
            return error_page(visitor, 404)
        language = Language(code)
        address = safe_next(localised(safe_next(wanted if wanted is not None else _referring_page(request)), language))
        response = RedirectResponse(address, 303)
        self._identity.set_language(response, request, language)
        account = visitor.account
        if account is not None and account.language is not language and _asked_here(request):

            def store() -> None:
                with self._store.session() as session:
                    AccountRepository(session).set_language(account.id, language)

            await in_thread(store)
        return response

    # -- inside -------------------------------------------------------------------------------------------------------

    def _onward(self, request: Request, wanted: str, account: Account | None = None) -> Response:
        return RedirectResponse(self._onward_address(request, wanted, account), 303)

    def _onward_address(self, request: Request, wanted: str, account: Account | None = None) -> str:
        """The page that was asked for before signing in, in the visitor's language; else the first room."""
        visitor = visitor_of(request)
        account = account or visitor.account
        address = safe_next(wanted)
        if address.split("?")[0] in ("/", "/sign-in", "/set-password"):
            return (first_room(account, visitor.language) if account is not None else None) or "/"
        return safe_next(localised(address, Language.ZH)) if visitor.language is Language.ZH else address


def routes(sign_in_pages: SignIn) -> APIRouter:
    """The addresses of these pages."""
    router = APIRouter()

    @router.get("/")
    async def home(request: Request) -> Response:
        return await sign_in_pages.home(request)

    @router.get("/sign-in")
    async def sign_in_page(request: Request, next: str = "/") -> Response:  # noqa: A002 (the name in the address)
        return await sign_in_pages.sign_in_page(request, next)

    @router.post("/sign-in")
    async def sign_in_post(
        request: Request,
        name: Text = "",
        password: Text = "",
        next: Text = "/",  # noqa: A002
    ) -> Response:
        return await sign_in_pages.sign_in(request, name, password, next)

    @router.get("/link/{token}")
    async def link_page(request: Request, token: str) -> Response:  # noqa: ARG001 (it is used up by the POST only)
        return await sign_in_pages.link_page(request)

    @router.post("/link/{token}")
    async def use_link(request: Request, token: str) -> Response:
        return await sign_in_pages.use_link(request, token)

    @router.get("/set-password")
    async def password_page(request: Request, next: str = "/") -> Response:  # noqa: A002
        return await sign_in_pages.password_page(request, next)

    @router.post("/set-password")
    async def set_password(
        request: Request,
        current: Text = "",
        password: Text = "",
        next: Text = "/",  # noqa: A002
    ) -> Response:
        return await sign_in_pages.set_password(request, current, password, next)

    @router.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        return await sign_in_pages.sign_out(request)

    @router.get("/language/{code}")
    async def choose_language(request: Request, code: str, next: str | None = None) -> Response:  # noqa: A002
        return await sign_in_pages.choose_language(request, code, next)

    return router


def _throttle_key(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name[:200]).casefold().split())


def _address(request: Request) -> str:
    """The client's address; of IPv6 the network, since one person holds as many addresses there as they like."""
    host = request.client.host if request.client is not None else ""
    return ":".join(host.split(":")[:4]) if ":" in host else host


def _referring_page(request: Request) -> str | None:
    """Path and query of the page of ours that a link stood on."""
    try:
        parts = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return None
    if parts.netloc.lower() != request.headers.get("host", "").lower():
        return None
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _asked_here(request: Request) -> bool:
    return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
