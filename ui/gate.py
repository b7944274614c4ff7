"""The gate: every request passes here before it reaches a page, and what is not let through on purpose stays outside.

Gradio's tabs, pages and invisible components are no access control: whoever may open a Blocks may call everything in it, join
another browser's session, and read what hidden parts hold. So each audience has a Blocks of its own behind this gate, which

* refuses hosts that are not ours (while bound to loopback), posts from other sites, bodies beyond a bound, web sockets;
* asks who the visitor is, and closes a mount to those whose roles do not open it;
* opens of Gradio's routes only those that pages need, and writes their messages anew;
* ties each browser session to the first account seen with it;
* puts the headers of protection on every response, and ends event streams of visitors who have been signed out.

Behind it, ``scope["salesfloor.visitor"]`` is the :class:`ui.identity.Visitor`, ``scope["salesfloor.account"]`` the account, or
None.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final, Protocol

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import StoreError
from core.scenarios import Language
from ui.gate_routes import (
    BadMessage,
    Mount,
    Route,
    SessionOwners,
    checked_message,
    checked_stream_query,
    has_closed_query,
    heartbeat_session,
    mount_of,
    route_of,
)
from ui.headers import Caching, from_own_page, guarded, named_locally, without_forwarding
from ui.identity import Visitor
from ui.rooms import localised, sign_in_address
from ui.texts import texts

__all__ = ["Gate"]

logger = logging.getLogger(__name__)

_MAX_MESSAGE_BYTES: Final = 200_000
_MAX_FORM_BYTES: Final = 16_000
_BODY_TIMEOUT_S: Final = 20.0
_RECHECK_STREAM_S: Final = 20.0
_PUBLIC_PREFIX: Final = "/static/"
_PUBLIC_PATHS: Final = frozenset({"/manifest.json", "/favicon.ico"})


class Doorman(Protocol):
    """Tells who a visitor is. See :class:`ui.identity.Identity`."""

    async def visitor(self, scope: Scope) -> Visitor:
        """Raises StoreError."""
        ...


ErrorPage = Callable[[Visitor, int], Response]
"""The page that tells a visitor of a status: 403, 404, 500 or 503."""


class Gate:
    """The outermost ASGI application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        mounts: tuple[Mount, ...],
        doorman: Doorman,
        error_page: ErrorPage,
        local_names_only: bool,
        trust_proxy: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._mounts = mounts
        self._doorman = doorman
        self._error_page = error_page
        self._local_names_only = local_names_only
        self._trust_proxy = trust_proxy
        self._clock = clock
        self._owners = SessionOwners()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            # No page of ours opens a web socket; an unanswered one would be left to Gradio.
            await send({"type": "websocket.close", "code": 1008})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        mount = mount_of(scope["path"], self._mounts)
        route = None if mount is None else route_of(mount, scope["method"], scope["path"][len(mount.path) :])
        send = guarded(send, _caching(scope["path"], mount, route))
        body = b""
        refusal = self._refused_unseen(scope, headers)
        if refusal is None and scope["method"] == "POST":
            limit = _MAX_FORM_BYTES if mount is None else _MAX_MESSAGE_BYTES
            read = await _read_body(headers, receive, limit)
            if read is None:
                return
            if isinstance(read, Response):
                refusal = read
            else:
                body, receive = read, _replay(read, receive)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        if route is Route.PUBLIC or (mount is None and _is_public(scope["path"])):
            await self._app(self._told(scope), receive, send)
            return
        try:
            visitor = await self._doorman.visitor(scope)
        except StoreError:
            logger.exception("nobody can be let in: the store does not answer")
            await self._error_page(Visitor.stranger(scope), 503)(scope, receive, send)
            return
        scope = {**self._told(scope), "salesfloor.visitor": visitor, "salesfloor.account": visitor.account}
        if mount is None or route is None:
            await self._app(scope, receive, send)
            return
        await self._enter(mount, route, visitor, body, scope, receive, send)

    def _told(self, scope: Scope) -> Scope:
        """What the applications are told of a request: which host it was for, only a trusted proxy may say."""
        return scope if self._trust_proxy else {**scope, "headers": without_forwarding(scope["headers"])}

    def _refused_unseen(self, scope: Scope, headers: Headers) -> Response | None:
        """What is refused whoever asks."""
        if self._local_names_only and not named_locally(headers):
            return PlainTextResponse("Salesfloor is not served under this name. Use http://127.0.0.1 or http://localhost.\n", 400)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Method not allowed\n", 405, headers={"allow": "GET, HEAD, POST"})
        if scope["method"] == "POST" and not from_own_page(headers):
            return _denied(403, "This request did not come from a page of this server.")
        return None

    async def _enter(
        self, mount: Mount, route: Route, visitor: Visitor, body: bytes, scope: Scope, receive: Receive, send: Send
    ) -> None:
        refusal = self._closed(mount, route, visitor, scope) or self._moved(mount, route, visitor, scope)
        if refusal is None and visitor.account is not None:
            try:
                session, receive = self._session_of(mount, route, body, scope, receive)
            except BadMessage as error:
                refusal = _denied(400, str(error))
            else:
                if session is not None and not self._owners.claim(session, visitor.account.id):
                    refusal = _denied(403, texts(mount.language)("errors.foreign_session"))
        if refusal is not None:
            await refusal(scope, receive, send)
        elif route in (Route.STREAM, Route.HEARTBEAT):
            await self._stream(visitor, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _closed(self, mount: Mount, route: Route, visitor: Visitor, scope: Scope) -> Response | None:
        """Why this visitor may not have this route, or None."""
        t = texts(mount.language)
        page = route is Route.PAGE
        if route is Route.CLOSED or (page and has_closed_query(scope["query_string"])):
            return self._error_page(visitor, 404) if _wants_page(scope) else _denied(404, t("errors.no_such_page"))
        if visitor.account is None:
            if page:
                return RedirectResponse(sign_in_address(_address(scope)), 303)
            return _denied(401, t("errors.signed_out"))
        if not visitor.account.may_open(mount.audience):
            return self._error_page(visitor, 403) if page else _denied(403, t("errors.forbidden"))
        return None

    def _moved(self, mount: Mount, route: Route, visitor: Visitor, scope: Scope) -> Response | None:
        """The page's proper address, where it is another than the one asked for."""
        if route is not Route.PAGE:
            return None
        rest = scope["path"][len(mount.path) :]
        page = rest.strip("/")
        proper = f"{mount.path}/{page}"
        language = Language.ZH if visitor.language is Language.ZH else mount.language
        address = localised(proper, language)
        if address == scope["path"]:
            return None
        return RedirectResponse(address + _address(scope).removeprefix(scope["path"]), 302)

    def _session_of(self, mount: Mount, route: Route, body: bytes, scope: Scope, receive: Receive) -> tuple[str | None, Receive]:
        """The browser session a request is for; makes query and body say the same to the application. Raises BadMessage."""
        rest = scope["path"][len(mount.path) :]
        if route is Route.HEARTBEAT:
            return heartbeat_session(rest), receive
        if route is Route.STREAM:
            session, scope["query_string"] = checked_stream_query(scope["query_string"])
            return session, receive
        if route is not Route.MESSAGE:
            return None, receive
        session_or_none, message = checked_message(rest, body)
        of_body = (b"content-length", b"content-type", b"content-encoding", b"transfer-encoding")
        plain = [(name, value) for name, value in scope["headers"] if name.lower() not in of_body]
        scope["headers"] = [*plain, (b"content-type", b"application/json"), (b"content-length", str(len(message)).encode())]
        return session_or_none, _replay(message, receive)

    async def _stream(self, visitor: Visitor, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an event stream for as long as its visitor stays signed in with the same roles."""
        checked_at = self._clock()
        ended = asyncio.Event()

        async def send_while_welcome(message: Message) -> None:
            nonlocal checked_at
            if ended.is_set():
                return
            if message["type"] == "http.response.body" and self._clock() - checked_at >= _RECHECK_STREAM_S:
                checked_at = self._clock()
                if not await self._still_welcome(visitor, scope):
                    ended.set()
                    message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        async def receive_until_ended() -> Message:
            return {"type": "http.disconnect"} if ended.is_set() else await receive()

        try:
            await self._app(scope, receive_until_ended, send_while_welcome)
        except RuntimeError as error:
            # A stream of a session that Gradio does not know, as after a restart: it has told the page so, and raises afterwards.
            if not isinstance(error.__cause__, HTTPException):
                raise
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _still_welcome(self, visitor: Visitor, scope: Scope) -> bool:
        try:
            now = await self._doorman.visitor(scope)
        except StoreError:
            return True  # the handlers ask again, and tell of a store in trouble better than a broken stream does
        before = visitor.account
        return now.account is not None and before is not None and (now.account.id, now.account.roles) == (before.id, before.roles)


def _denied(status: int, detail: str, *, hang_up: bool = False) -> Response:
    return JSONResponse({"detail": detail}, status, headers={"connection": "close"} if hang_up else None)


def _caching(path: str, mount: Mount | None, route: Route | None) -> str:
    if route is Route.PUBLIC:
        return Caching.NAMED_BY_CONTENT if "/assets/" in path else Caching.CHECKED
    return Caching.CHECKED if mount is None and _is_public(path) else Caching.PERSONAL


def _is_public(path: str) -> bool:
    return path.startswith(_PUBLIC_PREFIX) or path in _PUBLIC_PATHS


def _wants_page(scope: Scope) -> bool:
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")


def _address(scope: Scope) -> str:
    """The path and query asked for."""
    query = scope["query_string"].decode("latin-1")
    return str(scope["path"]) + (f"?{query}" if query else "")


async def _read_body(headers: Headers, receive: Receive, limit: int) -> bytes | Response | None:
    """The whole body; a refusal if it is too long or too slow; None if the client went away."""
    too_long = _denied(413, "The request is too long.", hang_up=True)
    stated = headers.get("content-length", "0")
    if not stated.isdigit() or len(stated) > 12 or int(stated) > limit:
        return too_long
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_TIMEOUT_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                body += message.get("body", b"")
                if len(body) > limit:
                    return too_long
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        return _denied(408, "The request took too long to arrive.", hang_up=True)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives the body in one piece, then what the server has to say."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
