"""The bar at the top of every page: brand, one row of tabs, language, light or dark, who is signed in."""

from __future__ import annotations

from typing import Any

from core.accounts import Account
from core.scenarios import Language
from ui.identity import Visitor
from ui.look import HTML_LANGUAGE
from ui.render import render
from ui.rooms import TABS, mount_path
from ui.services import Services
from ui.texts import Texts, texts

__all__ = ["bar", "top_bar"]


def top_bar(account: Account, page: str, t: Texts, services: Services, request: Any = None) -> str:
    """The bar as escaped HTML, for a page of Gradio's.

    ``page`` is the key of the tab that is open (:data:`ui.rooms.TABS`). ``request`` is the handler's: it tells how the visitor
    was let in, so that single-user mode is named where it is in force.
    """
    inner = getattr(request, "request", None)
    visitor = None if inner is None else getattr(inner, "scope", {}).get("salesfloor.visitor")
    single_user = visitor.single_user if isinstance(visitor, Visitor) else services.settings.single_user
    return bar(account, page, t, single_user=single_user)


def bar(account: Account | None, page: str, t: Texts, *, single_user: bool = False) -> str:
    """The bar for anybody: a stranger gets neither tabs nor a name."""
    other = Language.EN if t.language is Language.ZH else Language.ZH
    tabs = [
        {
            "href": f"{mount_path(tab.audience, t.language)}/{tab.page}",
            "label": t(f"shell.tab_{tab.key}"),
            "current": tab.key == page,
        }
        for tab in TABS
        if account is not None and account.may_open(tab.audience)
    ]
    return render(
        "shell/_bar.html",
        t=t,
        tabs=tabs,
        name=None if account is None else account.name,
        single_user=single_user,
        other={"code": other.value, "html": HTML_LANGUAGE[other], "name": texts(other)("shell.language_name")},
    )
