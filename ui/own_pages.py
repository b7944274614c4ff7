"""Pages that are not Gradio's: sign-in, one-time links, passwords, errors. Plain HTML that works without a script."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ui.headers import OWN_PAGE_POLICY
from ui.identity import Visitor
from ui.look import HTML_LANGUAGE
from ui.render import render
from ui.rooms import first_room, sign_in_address
from ui.texts import texts
from ui.topbar import bar

__all__ = ["error_page", "message_page", "own_page", "visitor_of"]

_ERRORS = {
    400: ("errors.page_400_title", "errors.page_400"),
    403: ("errors.page_403_title", "errors.page_403"),
    404: ("errors.page_404_title", "errors.page_404"),
    405: ("errors.page_404_title", "errors.page_404"),
    422: ("errors.page_400_title", "errors.page_400"),
    500: ("errors.page_500_title", "errors.page_500"),
    503: ("errors.page_503_title", "errors.page_503"),
}


def visitor_of(request: Request) -> Visitor:
    """Who asks, as the gate found out."""
    visitor = request.scope.get("salesfloor.visitor")
    return visitor if isinstance(visitor, Visitor) else Visitor.stranger(request.scope)


def own_page(visitor: Visitor, template: str, status: int = 200, **context: Any) -> Response:
    """Render ``ui/templates/shell/<template>.html`` with the bar, in the visitor's language."""
    t = texts(visitor.language)
    body = render(
        f"shell/{template}.html",
        t=t,
        html_language=HTML_LANGUAGE[visitor.language],
        bar=bar(visitor.account, "", t, single_user=visitor.single_user),
        **context,
    )
    return HTMLResponse(body, status, headers={"content-security-policy": OWN_PAGE_POLICY})


def message_page(
    visitor: Visitor, title: str, *paragraphs: str, status: int = 200, actions: tuple[tuple[str, str], ...] = ()
) -> Response:
    """A page that says something. ``actions`` are pairs of address and label; the first one is the main one."""
    links = [{"href": href, "label": label} for href, label in actions]
    return own_page(visitor, "message", status, title=title, paragraphs=paragraphs, actions=links)


def error_page(visitor: Visitor, status: int) -> Response:
    """What went wrong, what is safe, and what to do."""
    t = texts(visitor.language)
    title, text = _ERRORS.get(status, _ERRORS[500])
    return message_page(visitor, t(title), t(text), status=status, actions=_ways_out(visitor, status))


def _ways_out(visitor: Visitor, status: int) -> tuple[tuple[str, str], ...]:
    t = texts(visitor.language)
    if status in (500, 503):
        return (("", t("errors.reload")), ("/", t("errors.home")))
    if visitor.account is None:
        return ((sign_in_address("/"), t("signin.title")),)
    room = first_room(visitor.account, visitor.language)
    return ((room, t("errors.home")),) if room is not None else ()
