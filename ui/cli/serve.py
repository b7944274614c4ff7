"""``salesfloor serve``: the pages in the browser."""

from __future__ import annotations

import logging
import shlex
import socket
from typing import TYPE_CHECKING, Annotated

import typer

from core.accounts import Role
from core.errors import NotFound
from core.settings import load_settings
from data.accounts import LINK_LIFETIME, AccountRepository
from data.store import Store
from ui.cli._common import EMBEDDED, StoreOption, server_address
from ui.cli._output import columns, note, out
from ui.headers import is_loopback

if TYPE_CHECKING:
    from ui.services import Services

__all__ = ["serve"]

_ADMIN = "admin"


def serve(
    host: Annotated[
        str | None,
        typer.Option("--host", help="The address to listen on. Default: 127.0.0.1, this machine only.", show_default=False),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="Default: 7860. 0: any free port.", show_default=False),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Serve the pages until you press Ctrl+C."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    from ui.wiring import open_services  # noqa: PLC0415 (see _common)

    settings = load_settings(store=store, host=host, port=port)
    if settings.port == 0:
        settings = settings.model_copy(update={"port": _free_port(settings.host)})
    with open_services(settings, tell=note) as services:
        for line in columns(_facts(services)):
            out(line)

        def opened(_: str) -> None:
            # Not before: a link that is made and never shown, because the port is taken, would be lost.
            for line in _invitation(services, given=store):
                out(line)

        from ui.server import run  # noqa: PLC0415 (see _common)

        note("Opening the pages …")
        run(services, say=opened)


def first_admin(store: Store) -> tuple[str, str] | None:
    """Where nobody can administer yet: make an account for it, and return its name and the token of a one-time link."""
    with store.session() as session:
        accounts = AccountRepository(session)
        if accounts.list(role=Role.ADMIN, include_disabled=False):
            return None
        account = accounts.add(_free_name(accounts), {Role.ADMIN})
        return account.name, accounts.issue_link(account.name)


def _free_name(accounts: AccountRepository) -> str:
    """``admin``, unless somebody without the role is called so."""
    name, number = _ADMIN, 1
    while True:
        try:
            accounts.by_name(name)
        except NotFound:
            return name
        number += 1
        name = f"{_ADMIN}{number}"


def _facts(services: Services) -> list[tuple[str, str]]:
    settings = services.settings
    partner = "the embedded practice partner, not the benchmark's simulator"
    scored = "from the embedded customer's own state"

    def named(name: str, remark: str) -> str:
        return f"{name} ({remark})" if name == EMBEDDED else name

    return [
        ("Store", services.store.place),
        ("Customer", named(settings.customer, partner)),
        ("Intent scorer", named(settings.intent_scorer, scored)),
        ("Judge", named(settings.judge, scored)),
    ]


def _invitation(services: Services, *, given: str | None) -> list[str]:
    """``given``: the store as it was named on the command line."""
    settings = services.settings
    address = server_address(settings)
    lines = [f"Salesfloor is open at {address} (Ctrl+C closes it)"]
    if settings.single_user and is_loopback(settings.host) and not settings.trust_proxy:
        lines.append("Single-user mode: whoever uses this machine is let in without signing in.")
    first = first_admin(services.store)
    if first is not None:
        name, token = first
        hours = LINK_LIFETIME.total_seconds() / 3600
        lines.append(f"Sign in as {name!r} with this link; it works once, within {hours:.0f} hours:")
        return [*lines, f"  {address}/link/{token}"]
    with services.store.reading() as session:
        admin = AccountRepository(session).list(role=Role.ADMIN, include_disabled=False)[0].name
    where = f" --store {shlex.quote(given)}" if given is not None and services.store.path is not None else ""
    there = "" if address == server_address(load_settings(store=given)) else f" --address {address}"
    lines.append(f"For a new sign-in link: salesfloor account link {shlex.quote(admin)}{where}{there}")
    return lines


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port
