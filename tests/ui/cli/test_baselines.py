from __future__ import annotations

from core.dialogues import EndReason, Mode
from core.scenarios import Scenario
from data.accounts import AccountRepository
from data.baselines import BaselineRepository
from data.practice_store import SqlPracticeStore
from data.store import Store
from tests.support.store_factory import NOON, new_dialogue
from tests.ui.cli.conftest import Cli

QUERY = "id:fin-deposit-01 language:en"


def add_sellers(cli: Cli, *names: str) -> None:
    for name in names:
        assert cli("account", "add", name, "--role", "salesperson").status == 0


def test_created_worked_on_and_closed(cli: Cli, store: Store) -> None:
    add_sellers(cli, "Mei", "Bo")
    made = cli("baseline", "create", "spring", "--scenarios", QUERY, "--to", "Mei", "Bo")
    assert (made.status, made.lines) == (0, ["spring: 5 scenarios for each of Mei, Bo"])
    with store.reading() as session:
        mei = AccountRepository(session).by_name("Mei")
        first = BaselineRepository(session).assignments("spring", mei.id)[0]
    practice = SqlPracticeStore(store)

    def sell(scenario: Scenario) -> object:
        return new_dialogue(scenario=scenario, scenario_id=scenario.id, mode=Mode.BASELINE, account_id=mei.id)

    dialogue = practice.start_assignment(mei.id, first.id, sell)  # type: ignore[arg-type]
    practice.end(dialogue.id, EndReason.SALESPERSON, NOON)
    status = cli("baseline", "status", "spring")
    assert [line.split() for line in status.lines] == [
        ["spring:", "open"],
        ["account", "assigned", "begun", "finished"],
        ["Mei", "5", "1", "1"],
        ["Bo", "5", "0", "0"],
    ]
    assert cli("baseline", "list").out.startswith("spring  open  1 of 10 finished  2 people  since ")
    assert cli("baseline", "close", "spring").lines == ["spring is closed"]
    assert cli("baseline", "status", "spring").lines[0] == "spring: closed"


def test_each_person_has_an_order_of_their_own(cli: Cli, store: Store) -> None:
    names = ["Mei", "Bo", "Ann"]
    add_sellers(cli, *names)
    query = "language:en tier:hard"
    for baseline, seed in (("one", "0"), ("same", "0"), ("other", "1")):
        to = [part for name in names for part in ("--to", name)]
        assert cli("baseline", "create", baseline, "--scenarios", query, *to, "--seed", seed).status == 0
    with store.reading() as session:
        accounts = [AccountRepository(session).by_name(name) for name in names]
        orders = [
            tuple(item.scenario_id for item in BaselineRepository(session).assignments("one", account.id)) for account in accounts
        ]
    assert len(set(orders)) == len(names)
    assert len({frozenset(order) for order in orders}) == 1


def test_everyone_who_may_not_sell_is_named_and_nothing_is_made(cli: Cli) -> None:
    add_sellers(cli, "Mei", "Bo")
    cli("account", "add", "Rita", "--role", "annotator")
    cli("account", "disable", "Bo")
    refused = cli("baseline", "create", "spring", "--scenarios", QUERY, "--to", "Mei", "Bo", "Rita", "Nobody")
    assert (refused.status, refused.out) == (1, "")
    assert [line.split(":")[1].strip() for line in refused.complaints] == ["--to Bo", "--to Rita", "--to Nobody"]
    assert "no baselines yet" in cli("baseline", "list").err


def test_what_is_wrong_with_a_baseline_is_said(cli: Cli) -> None:
    add_sellers(cli, "Mei")
    assert "no scenario fits" in cli("baseline", "create", "spring", "--scenarios", "id:nothing", "--to", "Mei").err
    assert "is not a tier" in cli("baseline", "create", "spring", "--scenarios", "tier:tough", "--to", "Mei").err
    assert cli("baseline", "create", "spring", "--scenarios", QUERY, "--to", "Mei").status == 0
    again = cli("baseline", "create", "spring", "--scenarios", QUERY, "--to", "Mei")
    assert (again.status, len(again.complaints)) == (1, 1)
    assert "already" in again.err
    for action in ("status", "close"):
        assert cli("baseline", action, "winter").complaints == ["salesfloor: no baseline 'winter'"]
    assert cli("baseline", "create", "autumn", "--scenarios", QUERY).status == 2
