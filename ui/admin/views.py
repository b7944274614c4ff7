"""Accounts and baselines to what the admin's pages show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.accounts import Account, Role
from core.dialogues import utc_now
from data.baselines import Baseline, Progress
from ui.render import render
from ui.texts import Texts

__all__ = [
    "BaselineView",
    "account_choices",
    "accounts_html",
    "baselines_html",
    "hint_html",
    "link_html",
    "notice_html",
    "role_choices",
    "role_names",
]


@dataclass(frozen=True)
class BaselineView:
    """A baseline and how far each person has come in it."""

    baseline: Baseline
    progress: Sequence[Progress]


def role_choices(texts: Texts) -> list[tuple[str, str]]:
    return [(texts(f"shell.role_{role.value}"), role.value) for role in Role]


def role_names(roles: Iterable[Role], texts: Texts) -> list[str]:
    """In the order in which roles are declared."""
    held = set(roles)
    return [texts(f"shell.role_{role.value}") for role in Role if role in held]


def account_choices(accounts: Iterable[Account], texts: Texts) -> list[tuple[str, str]]:
    return [
        (account.name + (f" ({texts('admin.disabled')})" if account.disabled else ""), str(account.id)) for account in accounts
    ]


def accounts_html(
    accounts: Sequence[Account], seen: Mapping[int, datetime], asking: Account, texts: Texts, *, chosen: int | None = None
) -> str:
    rows = [
        {
            "id": account.id,
            "name": account.name,
            "you": account.id == asking.id,
            "roles": role_names(account.roles, texts),
            "created": _day(account.created_at),
            "created_iso": account.created_at.isoformat(),
            "seen": _moment(seen[account.id]) if account.id in seen else texts("admin.never"),
            "disabled": account.disabled,
            "has_password": account.has_password,
            "chosen": account.id == chosen,
        }
        for account in accounts
    ]
    return render("admin/accounts.html", t=texts, rows=rows)


def baselines_html(baselines: Sequence[BaselineView], names: Mapping[int, str], texts: Texts) -> str:
    rows = []
    for view in baselines:
        finished = sum(person.finished for person in view.progress)
        assigned = sum(person.assigned for person in view.progress)
        rows.append(
            {
                "name": view.baseline.name,
                "created": _day(view.baseline.created_at),
                "open": view.baseline.is_open,
                "share": round(100 * finished / assigned) if assigned else 0,
                "finished": finished,
                "assigned": assigned,
                "people": [
                    {
                        "name": names.get(person.account_id, "–"),
                        "assigned": person.assigned,
                        "begun": person.begun,
                        "finished": person.finished,
                    }
                    for person in view.progress
                ],
            }
        )
    return render("admin/baselines.html", t=texts, rows=rows)


def link_html(account: Account, address: str, expires: datetime, texts: Texts) -> str:
    """A one-time link, to be copied now."""
    return render("admin/link.html", t=texts, name=account.name, address=address, expires=_moment(expires))


def notice_html(text: str, *, fault: bool = False) -> str:
    """A line above the page, read out by screen readers."""
    return render("admin/notice.html", text=text, fault=fault)


def hint_html(text: str) -> str:
    """A quiet line beside what it is about."""
    return render("admin/hint.html", text=text)


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")


def _moment(moment: datetime) -> str:
    form = "%Y-%m-%d %H:%M UTC" if moment.date() != utc_now().date() else "%H:%M UTC"
    return moment.strftime(form)
