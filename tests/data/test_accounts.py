"""Names, roles, passwords, links, signed-in browsers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from sqlalchemy import text

from core.accounts import Account, Role
from core.errors import Forbidden, InvalidInput, NotFound, Refused
from core.scenarios import Language
from data import accounts as module
from data import passwords
from data.accounts import WEB_SESSION_LIFETIME, AccountRepository, sign_in
from data.passwords import hash_password, verify_password
from data.store import Store

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _fast_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))


def add(store: Store, name: str = "Mei", *roles: Role, password: str | None = None) -> Account:
    hashed = None if password is None else hash_password(password)
    with store.session() as session:
        return AccountRepository(session).add(name, roles or (Role.SALESPERSON,), password_hash=hashed)


def change(store: Store, call: Callable[[AccountRepository], object]) -> object:
    with store.session() as session:
        return call(AccountRepository(session))


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "李梅", "Zoë O'Neill", "x" * 64, "می‌خواهم", "😀", "a-b_c.d@e"])
def test_names_of_any_script(store: Store, name: str) -> None:
    account = add(store, name)
    assert account.name == name
    with store.reading() as session:
        assert AccountRepository(session).by_name(f" {name.upper()} ") == account


@pytest.mark.parametrize("name", ["", "   ", "x" * 65, "a\nb", "a\x00b", "a\u202eb", "a\u2028b", "\ue000"])
def test_names_that_are_refused(store: Store, name: str) -> None:
    with pytest.raises(InvalidInput, match="name: it h"):
        add(store, name)


@pytest.mark.parametrize(
    ("first", "second"), [("Mei", "mEI"), ("STRASSE", "straße"), ("ｍｅｉ", "Mei"), ("Zoe\u0308", "zoë"), ("a b", "a  B")]
)
def test_names_that_look_the_same_are_the_same(store: Store, first: str, second: str) -> None:
    add(store, first)
    with pytest.raises(InvalidInput, match="already; choose another name"):
        add(store, second)


def test_of_many_threads_adding_one_name_exactly_one_wins(store: Store) -> None:
    def attempt(_: int) -> bool:
        try:
            add(store, "Mei")
        except InvalidInput:
            return False
        return True

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(attempt, range(12))) == 1


def test_listing(store: Store) -> None:
    add(store, "Zoë", Role.ADMIN)
    mei = add(store, "Mei", Role.SALESPERSON, Role.RESEARCHER)
    change(store, lambda accounts: accounts.disable(mei.id))
    with store.reading() as session:
        accounts = AccountRepository(session)
        assert [(a.name, a.roles, a.disabled) for a in accounts.list()] == [
            ("Mei", {Role.SALESPERSON, Role.RESEARCHER}, True),
            ("Zoë", {Role.ADMIN}, False),
        ]
        assert [a.name for a in accounts.list(role=Role.SALESPERSON)] == ["Mei"]
        assert [a.name for a in accounts.list(include_disabled=False)] == ["Zoë"]
        with pytest.raises(NotFound, match="no account 'Bob'"):
            accounts.by_name("Bob")


# -- roles ------------------------------------------------------------------------------------------------------------


def test_an_account_needs_a_role(store: Store) -> None:
    with pytest.raises(InvalidInput, match="at least one role"), store.session() as session:
        AccountRepository(session).add("Mei", ())
    account = add(store)
    with pytest.raises(InvalidInput, match="at least one role"):
        change(store, lambda accounts: accounts.set_roles(account.id, ()))


def test_the_last_admin_stays(store: Store) -> None:
    first, second = add(store, "One", Role.ADMIN), add(store, "Two", Role.ADMIN)
    change(store, lambda accounts: accounts.set_roles(first.id, {Role.RESEARCHER}))
    for call in (
        lambda accounts: accounts.disable(second.id),
        lambda accounts: accounts.set_roles(second.id, {Role.SALESPERSON}),
    ):
        with pytest.raises(Refused, match="last admin"):
            change(store, call)
    change(store, lambda accounts: accounts.set_roles(second.id, {Role.ADMIN, Role.SALESPERSON}))
    change(store, lambda accounts: accounts.disable(first.id))


def test_a_disabled_admin_does_not_count(store: Store) -> None:
    first, second = add(store, "One", Role.ADMIN), add(store, "Two", Role.ADMIN)
    change(store, lambda accounts: accounts.disable(first.id))
    with pytest.raises(Refused, match="last admin"):
        change(store, lambda accounts: accounts.disable(second.id))
    change(store, lambda accounts: accounts.enable(first.id))
    change(store, lambda accounts: accounts.disable(second.id))


def test_two_admins_cannot_demote_each_other_at_once(store: Store) -> None:
    admins = [add(store, name, Role.ADMIN) for name in ("One", "Two")]

    def demote(account: Account) -> bool:
        try:
            change(store, lambda accounts: accounts.set_roles(account.id, {Role.RESEARCHER}))
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(demote, admins)) == [False, True]


def test_language(store: Store) -> None:
    account = add(store)
    assert account.language is None
    changed = change(store, lambda accounts: accounts.set_language(account.id, Language.ZH))
    assert isinstance(changed, Account)
    assert changed.language is Language.ZH


# -- passwords --------------------------------------------------------------------------------------------------------


def test_signing_in(store: Store) -> None:
    account = add(store, "Zoë", password=PASSWORD)
    assert account.has_password
    assert sign_in(store, "zoe\u0308", PASSWORD) == account
    for name, password in (
        ("Zoë", "wrong horse battery"),
        ("Zoë", ""),
        ("nobody", PASSWORD),
        ("Zoë", "x" * 10**6),
        ("\ud800", "\ud800"),
        ("Zoë\x00", PASSWORD),
    ):
        assert sign_in(store, name, password) is None


def test_no_password_no_entry(store: Store) -> None:
    add(store)
    assert sign_in(store, "Mei", "no account has this password") is None
    assert sign_in(store, "Mei", "") is None


def test_the_same_password_typed_in_another_way(store: Store) -> None:
    add(store, password="cafe\u0301 au lait")
    assert sign_in(store, "Mei", "café au lait") is not None


def test_a_disabled_account_cannot_sign_in(store: Store) -> None:
    add(store, "Admin", Role.ADMIN)
    account = add(store, password=PASSWORD)
    change(store, lambda accounts: accounts.disable(account.id))
    assert sign_in(store, "Mei", PASSWORD) is None


def test_an_unknown_name_costs_as_much_as_a_known_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store, password=PASSWORD)
    verified: list[str] = []
    hasher = passwords._hasher

    class Counting(PasswordHasher):
        def verify(self, hash: str, password: str | bytes) -> bool:  # noqa: A002 (argon2's name)
            verified.append(hash.rsplit("$", 2)[0])
            return hasher.verify(hash, password)

    monkeypatch.setattr(passwords, "_hasher", Counting(time_cost=1, memory_cost=64, parallelism=1))
    passwords._hash_of_nothing.cache_clear()
    sign_in(store, "Mei", "wrong")
    sign_in(store, "nobody", "wrong")
    passwords._hash_of_nothing.cache_clear()
    assert len(verified) == 2
    assert verified[0] == verified[1], "the same algorithm with the same parameters"


def test_a_weak_hash_is_renewed_at_sign_in(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store, password=PASSWORD)
    monkeypatch.setattr(passwords, "_hasher", PasswordHasher(time_cost=2, memory_cost=128, parallelism=1))
    assert sign_in(store, "Mei", PASSWORD) is not None
    with store.reading() as session:
        renewed = session.connection().execute(text("SELECT password_hash FROM account")).scalar_one()
    assert "t=2" in renewed
    assert verify_password(PASSWORD, renewed)
    assert sign_in(store, "Mei", PASSWORD) is not None


@pytest.mark.parametrize("password", ["", "short", "x" * 1025])
def test_passwords_that_are_refused(password: str) -> None:
    with pytest.raises(InvalidInput, match="password: it has"):
        hash_password(password)


def test_setting_a_password_signs_out_everywhere(store: Store) -> None:
    account = add(store, password=PASSWORD)
    token = change(store, lambda accounts: accounts.start_web_session(account.id))
    hashed = hash_password("another password")
    change(store, lambda accounts: accounts.set_password(account.id, hashed))
    assert sign_in(store, "Mei", PASSWORD) is None
    assert sign_in(store, "Mei", "another password") is not None
    assert change(store, lambda accounts: accounts.resolve_web_session(str(token))) is None


# -- links ------------------------------------------------------------------------------------------------------------


def test_a_link_works_once(store: Store) -> None:
    account = add(store)
    token = str(change(store, lambda accounts: accounts.issue_link("mei")))
    assert change(store, lambda accounts: accounts.redeem_link(token)) == account
    with pytest.raises(Forbidden, match="ask for a new link"):
        change(store, lambda accounts: accounts.redeem_link(token))


def test_of_many_threads_using_one_link_exactly_one_gets_in(store: Store) -> None:
    add(store)
    token = str(change(store, lambda accounts: accounts.issue_link("Mei")))

    def attempt(_: int) -> bool:
        try:
            change(store, lambda accounts: accounts.redeem_link(token))
        except Forbidden:
            return False
        return True

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(attempt, range(12))) == 1


def test_links_that_do_not_work(store: Store) -> None:
    add(store, "Admin", Role.ADMIN)
    account = add(store)
    expired = str(change(store, lambda accounts: accounts.issue_link("Mei", timedelta(seconds=-1))))
    voided = str(change(store, lambda accounts: accounts.issue_link("Mei")))
    change(store, lambda accounts: accounts.disable(account.id))
    with pytest.raises(Refused, match="disabled"):
        change(store, lambda accounts: accounts.issue_link("Mei"))
    change(store, lambda accounts: accounts.enable(account.id))
    for token in (expired, voided, "guessed", "", "\ud800"):
        with pytest.raises(Forbidden):
            change(store, lambda accounts, token=token: accounts.redeem_link(token))
    with pytest.raises(NotFound):
        change(store, lambda accounts: accounts.issue_link("nobody"))


def test_no_token_is_kept(store: Store) -> None:
    account = add(store)
    tokens = [
        str(change(store, lambda accounts: accounts.issue_link("Mei"))),
        str(change(store, lambda accounts: accounts.start_web_session(account.id))),
    ]
    with store.reading() as session:
        rows = [session.connection().execute(text(f"SELECT * FROM {table}")).all() for table in ("sign_in_link", "web_session")]
    assert not [token for token in tokens if token in repr(rows)]


# -- signed-in browsers -----------------------------------------------------------------------------------------------


def test_a_browser_stays_signed_in_until_it_signs_out(store: Store) -> None:
    account = add(store)
    here = str(change(store, lambda accounts: accounts.start_web_session(account.id)))
    there = str(change(store, lambda accounts: accounts.start_web_session(account.id)))
    with store.reading() as session:
        assert AccountRepository(session).resolve_web_session(here) == account
        assert AccountRepository(session).resolve_web_session("guessed") is None
    change(store, lambda accounts: accounts.end_web_session(here))
    change(store, lambda accounts: accounts.end_web_session(here))
    assert change(store, lambda accounts: accounts.resolve_web_session(here)) is None
    assert change(store, lambda accounts: accounts.resolve_web_session(there)) == account
    change(store, lambda accounts: accounts.end_all_web_sessions(account.id))
    assert change(store, lambda accounts: accounts.resolve_web_session(there)) is None


def test_a_disabled_account_is_out_at_once(store: Store) -> None:
    add(store, "Admin", Role.ADMIN)
    account = add(store)
    token = str(change(store, lambda accounts: accounts.start_web_session(account.id)))
    change(store, lambda accounts: accounts.disable(account.id))
    assert change(store, lambda accounts: accounts.resolve_web_session(token)) is None
    change(store, lambda accounts: accounts.enable(account.id))
    assert change(store, lambda accounts: accounts.resolve_web_session(token)) is None
    change(store, lambda accounts: accounts.disable(account.id))
    with pytest.raises(Refused):
        change(store, lambda accounts: accounts.start_web_session(account.id))


def test_a_browser_that_stayed_away_is_signed_out(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:

    account = add(store)
    token = str(change(store, lambda accounts: accounts.start_web_session(account.id)))
    now = module.utc_now()
    monkeypatch.setattr(module, "utc_now", lambda: now + WEB_SESSION_LIFETIME - timedelta(minutes=1))
    change(store, lambda accounts: accounts.touch_web_session(token))
    monkeypatch.setattr(module, "utc_now", lambda: now + 2 * WEB_SESSION_LIFETIME - timedelta(minutes=2))
    assert change(store, lambda accounts: accounts.resolve_web_session(token)) == account
    monkeypatch.setattr(module, "utc_now", lambda: now + 2 * WEB_SESSION_LIFETIME)
    assert change(store, lambda accounts: accounts.resolve_web_session(token)) is None
