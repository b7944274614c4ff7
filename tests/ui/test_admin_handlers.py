"""The Accounts pages' handlers, called as plain functions with a request that only has a name."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from core.accounts import Account, Role
from core.errors import Refused
from core.scenarios import Language
from data.accounts import AccountRepository
from data.baselines import BaselineRepository
from tests.support.running_server import RunningServer, make_services
from ui.admin.baseline_handlers import BaselineHandlers
from ui.admin.handlers import AccountHandlers
from ui.services import Services
from ui.texts import texts

NOTICE, TABLE, CHOSEN, ROLES, DISABLE, ENABLE, LINK = range(7)


def asks(name: str | None, **query: str) -> Any:
    headers = {"origin": "http://127.0.0.1:7860"}
    return SimpleNamespace(username=name, query_params=query, headers=headers, request=None)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    return make_services(tmp_path_factory.mktemp("admin"))


@pytest.fixture
async def house(services: Services) -> AsyncGenerator[RunningServer, None]:
    """A store with the admin Root, the salespeople Mei and Sam, and nobody else's leftovers."""
    house = RunningServer("", services, b"")
    with services.store.session() as session:
        known = {account.name for account in AccountRepository(session).list()}
    for name, role in (("Root", Role.ADMIN), ("Mei", Role.SALESPERSON), ("Sam", Role.SALESPERSON)):
        if name not in known:
            house.account(name, role)
    yield house
    for name in ("Mei", "Sam"):
        account = named(services, name)
        with services.store.session() as session:
            AccountRepository(session).set_roles(account.id, {Role.SALESPERSON})
            AccountRepository(session).enable(account.id)


@pytest.fixture
def accounts(house: RunningServer) -> AccountHandlers:
    return AccountHandlers(house.services, texts(Language.EN))


@pytest.fixture
def baselines(house: RunningServer) -> BaselineHandlers:
    return BaselineHandlers(house.services, texts(Language.EN))


def named(services: Services, name: str) -> Account:
    with services.store.reading() as session:
        return AccountRepository(session).by_name(name)


def exists(services: Services, name: str) -> bool:
    with services.store.reading() as session:
        return any(account.name == name for account in AccountRepository(session).list())


async def test_the_page_lists_everybody(accounts: AccountHandlers, services: Services) -> None:
    top, notice, table, chosen, *_ = await accounts.open_page(asks("Root", account=str(named(services, "Mei").id)))
    assert 'aria-current="page">Accounts' in top
    assert notice.strip() == ""
    assert "Mei" in table
    assert "never" in table
    assert chosen["value"] == str(named(services, "Mei").id)
    assert ("Sam", str(named(services, "Sam").id)) in chosen["choices"]


@pytest.mark.parametrize("query", ["", "x", "-1", "999999", "1e9", "9" * 30])
async def test_an_odd_address_chooses_nobody(accounts: AccountHandlers, query: str) -> None:
    assert (await accounts.open_page(asks("Root", account=query)))[1 + CHOSEN]["value"] is None


CALLS: list[Callable[[AccountHandlers, Any, Any], Awaitable[Any]]] = [
    lambda h, who, r: h.add("Planted", ["admin"], r),
    lambda h, who, r: h.choose(who, r),
    lambda h, who, r: h.save_roles(who, ["admin"], r),
    lambda h, who, r: h.make_link(who, r),
    lambda h, who, r: h.disable(who, r),
    lambda h, who, r: h.enable(who, r),
    lambda h, who, r: h.end_sessions(who, r),
]


@pytest.mark.parametrize("name", ["Mei", "Nobody", "", None])
@pytest.mark.parametrize("call", range(len(CALLS)))
async def test_nobody_but_an_admin_changes_or_sees_anything(
    accounts: AccountHandlers, services: Services, name: str | None, call: int
) -> None:
    before = named(services, "Sam")
    shown = await CALLS[call](accounts, str(before.id), asks(name))
    assert 'role="alert"' in shown[NOTICE]
    assert all("Sam" not in str(value) and "/link/" not in str(value) for value in shown)
    assert named(services, "Sam") == before
    assert not exists(services, "Planted")


@pytest.mark.parametrize("name", ["Mei", None])
async def test_the_page_opens_to_admins_only(accounts: AccountHandlers, baselines: BaselineHandlers, name: str | None) -> None:
    for opened in (accounts.open_page(asks(name)), baselines.open_page(asks(name))):
        with pytest.raises(gr.Error):
            await opened


async def test_adding_somebody_makes_a_link_that_works(accounts: AccountHandlers, services: Services) -> None:
    shown = await accounts.add("  Lin <b> ", ["salesperson", "annotator"], asks("Root"))
    assert "Lin &lt;b&gt; was added" in shown[NOTICE]
    assert "Lin <b>" not in shown[TABLE] + shown[LINK]["value"]
    account = named(services, "Lin <b>")
    assert account.roles == {Role.SALESPERSON, Role.ANNOTATOR}
    assert not account.has_password
    found = re.search(r'value="http://127\.0\.0\.1:7860/link/([\w-]+)"', shown[LINK]["value"])
    assert found is not None
    with services.store.session() as session:
        assert AccountRepository(session).redeem_link(found.group(1)).id == account.id


@pytest.mark.parametrize(
    ("name", "roles", "says"),
    [
        ("", ["admin"], "1 to 64 characters"), ("x" * 65, ["admin"], "1 to 64 characters"), ("a\u202eb", ["admin"], "control"),
        ("MEI", ["admin"], "already"), ("Fine", [], "at least one role"), ("Fine", None, "at least one role"),
        ("Fine", ["king"], "be used"), ("Fine", "admin", "be used"), ("Fine", [["admin"]], "be used"), (7, ["admin"], "be used"),
        ({"a": 1}, ["admin"], "be used"), ("Fine", {"admin": True}, "be used"), ("x" * 9999, ["admin"], "be used"),
    ],
)  # fmt: skip
async def test_what_is_no_account_is_refused_in_words(
    accounts: AccountHandlers, services: Services, name: Any, roles: Any, says: str
) -> None:
    count = len(list_accounts(services))
    shown = await accounts.add(name, roles, asks("Root"))
    assert says in shown[NOTICE]
    assert "Nothing was changed" in shown[NOTICE]
    assert len(list_accounts(services)) == count
    assert shown[LINK]["value"] == ""


def list_accounts(services: Services) -> tuple[Account, ...]:
    with services.store.reading() as session:
        return AccountRepository(session).list()


async def test_roles_and_state_can_be_changed(accounts: AccountHandlers, services: Services, house: RunningServer) -> None:
    mei = named(services, "Mei")
    who = str(mei.id)
    shown = await accounts.save_roles(who, ["salesperson", "researcher"], asks("Root"))
    assert "Mei is now: Salesperson, Researcher" in shown[NOTICE]
    assert named(services, "Mei").roles == {Role.SALESPERSON, Role.RESEARCHER}
    with services.store.session() as session:
        token = AccountRepository(session).start_web_session(mei.id)
    shown = await accounts.disable(who, asks("Root"))
    assert named(services, "Mei").disabled
    assert (shown[DISABLE]["visible"], shown[ENABLE]["visible"]) == (False, True)
    assert "Enable the account first" in (await accounts.make_link(who, asks("Root")))[NOTICE]
    await accounts.enable(who, asks("Root"))
    assert not named(services, "Mei").disabled
    with services.store.session() as session:
        assert AccountRepository(session).resolve_web_session(token) is None
        again = AccountRepository(session).start_web_session(mei.id)
    await accounts.end_sessions(who, asks("Root"))
    with services.store.reading() as session:
        assert AccountRepository(session).resolve_web_session(again) is None


async def test_the_last_admin_stays(accounts: AccountHandlers, services: Services) -> None:
    root = str(named(services, "Root").id)
    for shown in (await accounts.disable(root, asks("Root")), await accounts.save_roles(root, ["annotator"], asks("Root"))):
        assert "the last admin" in shown[NOTICE]
    assert named(services, "Root").roles == {Role.ADMIN}
    assert not named(services, "Root").disabled


async def test_an_admin_who_resigns_sees_nothing_more(accounts: AccountHandlers, services: Services) -> None:
    await accounts.save_roles(str(named(services, "Mei").id), ["admin"], asks("Root"))
    shown = await accounts.save_roles(str(named(services, "Mei").id), ["salesperson"], asks("Mei"))
    assert named(services, "Mei").roles == {Role.SALESPERSON}
    assert 'role="alert"' in shown[NOTICE]
    assert "Sam" not in str(shown)


@pytest.mark.parametrize("chosen", [None, "", "0", "999999", "-1", 1, True, 1.5, [1], {"id": 1}, "1 OR 1=1", "١", "1" * 40])
async def test_only_accounts_of_the_list_can_be_chosen(accounts: AccountHandlers, services: Services, chosen: Any) -> None:
    before = list_accounts(services)
    for call in (accounts.disable, accounts.make_link, accounts.enable, accounts.end_sessions):
        shown = await call(chosen, asks("Root"))
        assert "Nothing was changed" in shown[NOTICE]
    assert list_accounts(services) == before


# -- baselines ---------------------------------------------------------------------------------------------------------------


async def test_a_baseline_gives_everybody_the_same_sales_in_their_own_order(
    baselines: BaselineHandlers, services: Services
) -> None:
    mei, sam = named(services, "Mei"), named(services, "Sam")
    query = "language:en tier:hard domain:financial"
    preview = await baselines.preview(query, [str(mei.id), str(sam.id)], asks("Root"))
    shown = await baselines.create("Pilot", query, [str(mei.id), str(sam.id)], asks("Root"))
    with services.store.reading() as session:
        orders = [[item.scenario_id for item in BaselineRepository(session).assignments("Pilot", a.id)] for a in (mei, sam)]
    count = len(orders[0])
    assert count >= 12
    assert f"{count} scenarios, {2 * count} sales" in preview
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1], f"two of {count}! orders are the same"
    assert all(".hard.en" in scenario for scenario in orders[0])
    assert "“Pilot” was created" in shown[0]
    assert f"Mei: 0 of {count} done" in shown[1]


async def test_closing_needs_to_be_meant(baselines: BaselineHandlers, services: Services) -> None:
    await baselines.create("Short", "language:zh tier:easy", [str(named(services, "Mei").id)], asks("Root"))
    for sure in (False, None, "true", 1):
        assert "Tick the box" in (await baselines.close("Short", sure, asks("Root")))[0]
    assert "is closed" in (await baselines.close("Short", True, asks("Root")))[0]
    with services.store.reading() as session:
        assert not BaselineRepository(session).get("Short").is_open
    for name in (None, "", 7, ["Short"], "no such"):
        assert 'role="alert"' in (await baselines.close(name, True, asks("Root")))[0]


@pytest.mark.parametrize(
    ("name", "query", "people", "says"),
    [
        ("", "", ["Mei"], "1 to 80 characters"), ("x" * 81, "", ["Mei"], "1 to 80"), ("a\nb", "", ["Mei"], "1 to 80"),
        (7, "", ["Mei"], "be used"),
        ("New", "tier:soft", ["Mei"], "tier"), ("New", "colour:red", ["Mei"], "colour"),
        ("New", "id:no-such-id", ["Mei"], "No scenario"),
        ("New", "", [], "at least one"), ("New", "", None, "at least one"), ("New", "", "Mei", "be used"),
        ("New", "tier:easy", ["Root"], "at least one"), ("New", 7, ["Mei"], "be used"), ("New", "x" * 501, ["Mei"], "be used"),
    ],
)  # fmt: skip
async def test_what_is_no_baseline_is_refused_in_words(
    baselines: BaselineHandlers, services: Services, name: Any, query: Any, people: Any, says: str
) -> None:
    ids = [str(named(services, person).id) for person in people] if isinstance(people, list) else people
    shown = await baselines.create(name, query, ids, asks("Root"))
    assert says in shown[0]
    assert "othing was changed" in shown[0]
    with services.store.reading() as session:
        assert "New" not in [item.name for item in BaselineRepository(session).list()]


async def test_half_a_baseline_is_never_kept(
    baselines: BaselineHandlers, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    assign = BaselineRepository.assign
    sam = named(services, "Sam")

    def breaks(self: BaselineRepository, name: str, account_id: int, scenario_ids: Any) -> Any:
        if account_id == sam.id:
            raise Refused("in the middle")
        return assign(self, name, account_id, scenario_ids)

    monkeypatch.setattr(BaselineRepository, "assign", breaks)
    await baselines.create("Half", "tier:easy language:en", [str(named(services, "Mei").id), str(sam.id)], asks("Root"))
    with services.store.reading() as session:
        assert "Half" not in [item.name for item in BaselineRepository(session).list()]


@pytest.mark.parametrize("name", ["Mei", None])
async def test_only_admins_touch_baselines(baselines: BaselineHandlers, services: Services, name: str | None) -> None:
    who = [str(named(services, "Mei").id)]
    results = [
        (await baselines.create("Planted", "", who, asks(name)))[0],
        (await baselines.close("Pilot", True, asks(name)))[0],
        await baselines.preview("", who, asks(name)),
    ]
    assert all('role="alert"' in result and "scenarios" not in result for result in results)
    with services.store.reading() as session:
        assert "Planted" not in [item.name for item in BaselineRepository(session).list()]


async def test_the_page_speaks_chinese(house: RunningServer) -> None:
    handlers = AccountHandlers(house.services, texts(Language.ZH))
    top, *_ = await handlers.open_page(asks("Root"))
    assert "账号" in top
    assert 'href="/zh/admin/"' in top
