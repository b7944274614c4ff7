"""``salesfloor baseline``: what people are to sell for the human-baseline group, and how far they have come."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Annotated

import typer
from sqlmodel import Session

from core.accounts import Account, Audience
from core.errors import InvalidInput, NotFound, Problem
from data.accounts import AccountRepository
from data.baselines import BaselineRepository
from data.scenarios import ScenarioRepository
from ui.cli._common import StoreOption, opened_store
from ui.cli._output import columns, note, out

__all__ = ["app"]

app = typer.Typer(help="Collect a human baseline: assign scenarios to people, see how far they are.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The baseline's name.", show_default=False)]


@app.command("create")
def create(
    name: Name,
    query: Annotated[
        str,
        typer.Option(
            "--scenarios",
            metavar="QUERY",
            help="Which scenarios each person sells, as in 'salesfloor scenarios list'.",
            show_default=False,
        ),
    ],
    to: Annotated[
        list[str],
        typer.Option("--to", metavar="ACCOUNT…", help="Who sells them: one name or several.", show_default=False),
    ],
    further: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    seed: Annotated[int, typer.Option("--seed", help="Draws each person's own order of the scenarios.")] = 0,
    store: StoreOption = None,
) -> None:
    """Assign every scenario of the query to every account, each in an order of their own."""
    with opened_store(store) as opened, opened.session() as session:
        sellers = _sellers(session, [*to, *(further or ())])
        scenarios = [item.id for item in ScenarioRepository(session).search(query).items]
        if not scenarios:
            raise InvalidInput(Problem("--scenarios", f"no scenario fits {query!r}", "try it with 'salesfloor scenarios list'"))
        baselines = BaselineRepository(session)
        baseline = baselines.create(name)
        for seller in sellers:
            baselines.assign(baseline.name, seller.id, _shuffled(scenarios, f"{seed}|{baseline.name}|{seller.name}"))
    out(f"{baseline.name}: {len(scenarios)} scenarios for each of {', '.join(seller.name for seller in sellers)}")


@app.command("list")
def list_baselines(store: StoreOption = None) -> None:
    """List the baselines, newest first, with what is finished of what was assigned."""
    with opened_store(store) as opened, opened.reading() as session:
        repository = BaselineRepository(session)
        baselines = [(baseline, repository.progress(baseline.name)) for baseline in repository.list()]
    if not baselines:
        note("There are no baselines yet.")
        return
    rows = [
        (
            baseline.name,
            "open" if baseline.is_open else "closed",
            f"{sum(person.finished for person in people)} of {sum(person.assigned for person in people)} finished",
            f"{len(people)} {'person' if len(people) == 1 else 'people'}",
            f"since {baseline.created_at:%Y-%m-%d}",
        )
        for baseline, people in baselines
    ]
    for line in columns(rows):
        out(line)


@app.command("status")
def status(name: Name, store: StoreOption = None) -> None:
    """Show how far each person has come."""
    with opened_store(store) as opened, opened.reading() as session:
        repository = BaselineRepository(session)
        baseline = repository.get(name)
        people = repository.progress(baseline.name)
        names = {account.id: account.name for account in AccountRepository(session).list()}
    out(f"{baseline.name}: {'open' if baseline.is_open else 'closed'}")
    rows = [("account", "assigned", "begun", "finished")]
    rows += [(names[each.account_id], str(each.assigned), str(each.begun), str(each.finished)) for each in people]
    for line in columns(rows):
        out(line)


@app.command("close")
def close(name: Name, store: StoreOption = None) -> None:
    """End the collection: nobody begins another dialogue. What was begun can be finished."""
    with opened_store(store) as opened, opened.session() as session:
        baseline = BaselineRepository(session).close(name)
    out(f"{baseline.name} is closed")


def _sellers(session: Session, names: Sequence[str]) -> list[Account]:
    """The accounts, each once. Raises InvalidInput with every name that is not one of an account that may sell."""
    accounts = AccountRepository(session)
    found: dict[int, Account] = {}
    problems: list[Problem] = []
    for name in names:
        try:
            account = accounts.by_name(name)
        except NotFound:
            problems.append(Problem(f"--to {name}", "there is no such account", "see 'salesfloor account list'"))
            continue
        if not account.may_open(Audience.PRACTICE):
            fault = "it is disabled" if account.disabled else "it may not sell"
            problems.append(Problem(f"--to {name}", fault, "name an account with the role salesperson"))
        found[account.id] = account
    if problems:
        raise InvalidInput(*problems)
    return list(found.values())


def _shuffled(scenarios: Sequence[str], seed: str) -> list[str]:
    order = list(scenarios)
    random.Random(seed).shuffle(order)  # noqa: S311 (an order that can be drawn again, not a secret)
    return order
