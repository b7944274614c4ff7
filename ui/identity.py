"""Who a visitor is: the signed session cookie, or single-user mode on this machine."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from itsdangerous import BadSignature, Signer, TimestampSigner
from starlette.requests import Request, cookie_parser
from starlette.responses import Response
from starlette.types import Scope

from core.accounts import Account, Role
from core.errors import StoreError
from core.scenarios import Language
from core.settings import Settings
from core.threads import in_thread
from data.accounts import AccountRepository
from data.store import Store
from ui.headers import is_loopback
from ui.texts import language_of

__all__ = ["LANGUAGE_COOKIE", "Identity", "Visitor", "load_secret"]

SESSION_COOKIE: Final = "sf_session"
LANGUAGE_COOKIE: Final = "sf_lang"
LINK_COOKIE: Final = "sf_link"

_COOKIE_AGE_S: Final = 400 * 24 * 3600  # the longest that browsers allow; the store decides when a session ends
_LINK_AGE_S: Final = 15 * 60
_TOUCH_EVERY_S: Final = 300.0
_MAX_TOUCHED: Final = 10_000
_SECRET_BYTES: Final = 32


@dataclass(frozen=True)
class Visitor:
    """Who asks, and in which language. ``token`` is the session's, None in single-user mode and for strangers."""

    account: Account | None
    language: Language
    token: str | None = None
    single_user: bool = False

    @classmethod
    def stranger(cls, scope: Scope) -> Visitor:
        return cls(None, _language(scope, None))


class Identity:
    """Reads and writes the session cookie. The cookie holds a random token of a session in the store, signed.

    Single-user mode lets requests from this machine in as the first admin, if the server listens to this machine only and no
    proxy stands before it.
    """

    def __init__(self, store: Store, settings: Settings, *, secret: bytes, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._signer = Signer(secret, salt="session")
        self._link_signer = TimestampSigner(secret, salt="link")
        self._single_user = settings.single_user and is_loopback(settings.host) and not settings.trust_proxy
        self._clock = clock
        self._touched: OrderedDict[str, float] = OrderedDict()

    async def visitor(self, scope: Scope) -> Visitor:
        """Who asks. Raises StoreError."""
        token = self._unsigned(_cookies(scope).get(SESSION_COOKIE))
        if token is not None:
            touch = self._is_due(token)
            account = await in_thread(lambda: self._resolve(token, touch=touch))
            if account is not None:
                return Visitor(account, _language(scope, account), token)
        if self._single_user and _from_this_machine(scope):
            account = await in_thread(self._first_admin)
            if account is not None:
                return Visitor(account, _language(scope, account), single_user=True)
        return Visitor.stranger(scope)

    async def sign_in(self, response: Response, request: Request, account: Account) -> None:
        """Start a session for the account, end the browser's earlier one, and set the cookie. Raises StoreError, Refused."""
        earlier = self._unsigned(_cookies(request.scope).get(SESSION_COOKIE))

        def start() -> str:
            with self._store.session() as session:
                accounts = AccountRepository(session)
                if earlier is not None:
                    accounts.end_web_session(earlier)
                return accounts.start_web_session(account.id)

        self.set_session_cookie(response, request, await in_thread(start))

    def set_session_cookie(self, response: Response, request: Request, token: str) -> None:
        signed = self._signer.sign(token).decode()
        _set_cookie(response, request, SESSION_COOKIE, signed, max_age=_COOKIE_AGE_S)

    async def sign_out(self, response: Response, request: Request) -> None:
        """End the session in the store and forget its cookies. Raises StoreError."""
        token = self._unsigned(_cookies(request.scope).get(SESSION_COOKIE))
        if token is not None:

            def end() -> None:
                with self._store.session() as session:
                    AccountRepository(session).end_web_session(token)

            await in_thread(end)
            self._touched.pop(token, None)
        response.delete_cookie(SESSION_COOKIE, path="/")
        response.delete_cookie(LINK_COOKIE, path="/")

    # A browser that came by a one-time link may set a password without knowing the old one, for a quarter of an hour.

    def note_link(self, response: Response, request: Request, account: Account) -> None:
        signed = self._link_signer.sign(str(account.id)).decode()
        _set_cookie(response, request, LINK_COOKIE, signed, max_age=_LINK_AGE_S)

    def came_by_link(self, request: Request, account: Account) -> bool:
        value = _cookies(request.scope).get(LINK_COOKIE)
        try:
            return value is not None and self._link_signer.unsign(value, max_age=_LINK_AGE_S) == str(account.id).encode()
        except BadSignature:
            return False

    def set_language(self, response: Response, request: Request, language: Language) -> None:
        _set_cookie(response, request, LANGUAGE_COOKIE, language.value, max_age=_COOKIE_AGE_S)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _unsigned(self, value: str | None) -> str | None:
        if value is None or len(value) > 500:
            return None
        try:
            return self._signer.unsign(value.encode("latin-1", "replace")).decode()
        except (BadSignature, UnicodeDecodeError):
            return None

    def _resolve(self, token: str, *, touch: bool) -> Account | None:
        with self._store.reading() as session:
            account = AccountRepository(session).resolve_web_session(token)
        if touch and account is not None:
            with self._store.session() as session:
                AccountRepository(session).touch_web_session(token)
        return account

    def _is_due(self, token: str) -> bool:
        """Whether to tell the store that this session was seen: a write, so only now and then."""
        now = self._clock()
        if now - self._touched.get(token, -_TOUCH_EVERY_S) < _TOUCH_EVERY_S:
            return False
        self._touched[token] = now
        self._touched.move_to_end(token)
        if len(self._touched) > _MAX_TOUCHED:
            self._touched.popitem(last=False)
        return True

    def _first_admin(self) -> Account | None:
        with self._store.reading() as session:
            admins = AccountRepository(session).list(role=Role.ADMIN, include_disabled=False)
        return min(admins, key=lambda account: account.id, default=None)


def load_secret(folder: Path) -> bytes:
    """The key that signs cookies: made at the first use, readable by its owner only. Raises StoreError."""
    path = folder / "secret.key"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            _make_secret(path)
        key = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be read or made: {error.strerror}; it signs the cookies, so mend its folder") from error
    if len(key) < _SECRET_BYTES:
        raise StoreError(f"{path} is cut short; delete it and start again (everybody signs in anew)")
    return key


def _make_secret(path: Path) -> None:
    """Write the key whole, and only then under its name: of two programs that start at once, one's key stands."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(secrets.token_bytes(_SECRET_BYTES))
    try:
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(partial)
    finally:
        partial.unlink()


def _set_cookie(response: Response, request: Request, name: str, value: str, *, max_age: int) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=max_age, path="/", httponly=True, samesite="lax", secure=secure)


def _cookies(scope: Scope) -> dict[str, str]:
    """All cookies of a request: HTTP/2 proxies may split the header in several."""
    values = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"cookie"]
    return cookie_parser("; ".join(values))


def _language(scope: Scope, account: Account | None) -> Language:
    """The choice made in this browser, else the account's, else the browser's own."""
    chosen = _cookies(scope).get(LANGUAGE_COOKIE)
    if chosen not in frozenset(Language) and account is not None and account.language is not None:
        return account.language
    accepted = next((value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"accept-language"), None)
    return language_of(chosen, accepted)


def _from_this_machine(scope: Scope) -> bool:
    # A proxy on this machine would make everybody look as if they sat at it; proxies name those they speak for.
    forwarded = any(name.lower() in (b"forwarded", b"x-forwarded-for", b"via", b"x-real-ip") for name, _ in scope["headers"])
    client = scope.get("client")
    return client is not None and is_loopback(client[0]) and not forwarded
