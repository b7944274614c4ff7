"""``salesfloor account``: who may sign in."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from core.accounts import Account, Role
from core.errors import InvalidInput, Problem
from core.settings import load_settings
from data.accounts import LINK_LIFETIME, AccountRepository
from data.passwords import MIN_PASSWORD_CHARACTERS, hash_password
from ui.cli._common import StoreOption, opened_store, server_address
from ui.cli._output import columns, note, out

__all__ = ["app"]

app = typer.Typer(help="Make accounts and let people sign in.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The account's name.", show_default=False)]


@app.command("add")
def add(
    name: Name,
    roles: Annotated[
        list[Role], typer.Option("--role", help="What the account may do; give it once for each role.", show_default=False)
    ],
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input instead of asking for it.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Add an account.

    On a terminal you are asked for a password, which stays hidden. An account without one signs in by a link.
    """
    password = _read_password() if password_stdin else _ask_password()
    password_hash = None if password is None else hash_password(password)
    with opened_store(store) as opened, opened.session() as session:
        account = AccountRepository(session).add(name, roles, password_hash=password_hash)
    out(f"{account.name} added: {_roles(account)}")
    if password is None:
        note(f"It has no password: 'salesfloor account link {account.name}' prints a link that signs in once.")


@app.command("list")
def list_accounts(store: StoreOption = None) -> None:
    """List the accounts: name, roles, how they sign in, since when."""
    with opened_store(store) as opened, opened.reading() as session:
        accounts = AccountRepository(session).list()
    if not accounts:
        note("There are no accounts yet; the first start of 'salesfloor serve' makes one.")
        return
    rows = [(account.name, _roles(account), _state(account), f"since {account.created_at:%Y-%m-%d}") for account in accounts]
    for line in columns(rows):
        out(line)


@app.command("disable")
def disable(name: Name, store: StoreOption = None) -> None:
    """Shut an account out.

    It is signed out everywhere at once. What it sold and rated stays.
    """
    with opened_store(store) as opened, opened.session() as session:
        accounts = AccountRepository(session)
        account = accounts.disable(accounts.by_name(name).id)
    out(f"{account.name} is disabled")


@app.command("enable")
def enable(name: Name, store: StoreOption = None) -> None:
    """Let a disabled account in again."""
    with opened_store(store) as opened, opened.session() as session:
        accounts = AccountRepository(session)
        account = accounts.enable(accounts.by_name(name).id)
    out(f"{account.name} is enabled")


@app.command("link")
def link(
    name: Name,
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            metavar="URL",
            help="The address under which people reach the server, if it is not the configured host and port.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Print a link that signs the account in once.

    Nothing else is written to standard output.
    """
    begins = server_address(load_settings(store=store)) if address is None else _checked(address)
    with opened_store(store) as opened, opened.session() as session:
        token = AccountRepository(session).issue_link(name)
    out(f"{begins}/link/{token}")
    note(f"It signs {name} in once, within {LINK_LIFETIME.total_seconds() / 3600:.0f} hours.")


def _roles(account: Account) -> str:
    return ", ".join(role.value for role in Role if role in account.roles)


def _state(account: Account) -> str:
    if account.disabled:
        return "disabled"
    return "password" if account.has_password else "by link only"


def _checked(address: str) -> str:
    if not address.startswith(("http://", "https://")):
        raise InvalidInput(Problem("--address", f"{address!r} is no address of a server", "begin it with http:// or https://"))
    return address.rstrip("/")


def _read_password() -> str:
    """Everything on standard input, less the line end that ``echo`` adds."""
    raw = sys.stdin.buffer.read()
    try:
        return raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InvalidInput(Problem("password", "standard input is not UTF-8", "write it in UTF-8")) from error


def _ask_password() -> str | None:
    """None where there is nobody to ask, or the answer is empty."""
    if not sys.stdin.isatty():
        return None
    question = f"Password ({MIN_PASSWORD_CHARACTERS} characters or more; empty: sign in by link)"
    answer: str = typer.prompt(question, default="", hide_input=True, show_default=False)
    if answer and typer.prompt("The same again", default="", hide_input=True, show_default=False) != answer:
        raise InvalidInput(Problem("password", "the two are not the same", "try again"))
    return answer or None
