"""Downloads of one's own dialogues, through routes that ask again whose they are."""

from __future__ import annotations

import re
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from core.accounts import Account, Audience
from core.dialogues import Dialogue, Mode
from core.errors import NotFound
from core.threads import in_thread
from data.dialogues import DialogueFilter
from data.exports import dialogue_line, dialogue_lines
from data.transcripts import render_transcript
from ui.headers import TRANSCRIPT_POLICY
from ui.own_pages import error_page, message_page, visitor_of
from ui.rooms import first_room, sign_in_address
from ui.services import Services
from ui.texts import texts

__all__ = ["Downloads", "routes"]

_JSONL: Final = "application/jsonl; charset=utf-8"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


class Downloads:
    """What the routes below hand out: only what the account sold itself, and only once it is over.

    A line of JSON tells tier and propensity, so there is none of a baseline dialogue.
    """

    def __init__(self, services: Services) -> None:
        self._practice = services.practice
        self._store = services.store

    async def transcript(self, request: Request, dialogue_id: str) -> Response:
        """A readable page, in the language of the interface."""
        found = await self._finished(request, dialogue_id)
        if isinstance(found, Response):
            return found
        account, dialogue = found
        card = await self._practice.scorecard(account, dialogue.id) if dialogue.mode is Mode.PRACTICE else None
        page = render_transcript(dialogue, card, language=visitor_of(request).language)
        response = _attachment(page.encode("utf-8"), "text/html; charset=utf-8", f"salesfloor-{dialogue.id}.html")
        response.headers["content-security-policy"] = TRANSCRIPT_POLICY
        return response

    async def line(self, request: Request, dialogue_id: str) -> Response:
        """The dialogue with its scores as one line of JSON."""
        found = await self._finished(request, dialogue_id)
        if isinstance(found, Response):
            return found
        account, dialogue = found
        if dialogue.mode is not Mode.PRACTICE:
            return error_page(visitor_of(request), 404)
        await self._practice.scorecard(account, dialogue.id)  # makes the card of an embedded customer, if nobody has seen it yet

        def read() -> bytes:
            with self._store.reading() as session:
                return dialogue_line(session, dialogue).encode("utf-8")

        return _attachment(await in_thread(read), _JSONL, f"salesfloor-{dialogue.id}.jsonl")

    async def all_lines(self, request: Request) -> Response:
        """All finished practice dialogues of the account, oldest first."""
        account = self._salesperson(request)
        if isinstance(account, Response):
            return account
        wanted = DialogueFilter(account_id=account.id, mode=Mode.PRACTICE, ended=True)

        def read() -> bytes:
            with self._store.reading() as session:
                return "".join(dialogue_lines(session, wanted)).encode("utf-8")

        return _attachment(await in_thread(read), _JSONL, "salesfloor-my-dialogues.jsonl")

    def _salesperson(self, request: Request) -> Account | Response:
        visitor = visitor_of(request)
        if visitor.account is None:
            return RedirectResponse(sign_in_address(request.url.path), 303)
        if not visitor.account.may_open(Audience.PRACTICE):
            return error_page(visitor, 403)
        return visitor.account

    async def _finished(self, request: Request, dialogue_id: str) -> tuple[Account, Dialogue] | Response:
        account = self._salesperson(request)
        if isinstance(account, Response):
            return account
        visitor = visitor_of(request)
        try:
            dialogue = (await self._practice.snapshot(account, dialogue_id)).dialogue
        except NotFound:
            return error_page(visitor, 404)
        if not dialogue.is_over:
            t = texts(visitor.language)
            home = (first_room(account, visitor.language) or "/", t("errors.home"))
            return message_page(visitor, t("errors.not_over_title"), t("errors.not_over"), status=409, actions=(home,))
        return account, dialogue


def routes(downloads: Downloads) -> APIRouter:
    """The addresses of the downloads."""
    router = APIRouter(prefix="/files")

    @router.get("/my-dialogues.jsonl")
    async def my_dialogues(request: Request) -> Response:
        return await downloads.all_lines(request)

    @router.get("/dialogues/{dialogue_id}.jsonl")
    async def dialogue_jsonl(request: Request, dialogue_id: str) -> Response:
        return await downloads.line(request, dialogue_id)

    @router.get("/dialogues/{dialogue_id}.html")
    async def dialogue_html(request: Request, dialogue_id: str) -> Response:
        return await downloads.transcript(request, dialogue_id)

    return router


def _attachment(body: bytes, media_type: str, name: str) -> Response:
    safe = _UNSAFE.sub("_", name)[:120]
    return Response(body, media_type=media_type, headers={"content-disposition": f'attachment; filename="{safe}"'})
