"""Accounts: names, roles, passwords, one-time links, signed-in browsers.

Tokens are random, handed out once, and kept only as hashes: who reads the store cannot sign in with what is in it.
"""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, delete, func, select

from core.accounts import Account, Role
from core.dialogues import storable, utc_now
from core.errors import Forbidden, InvalidInput, NotFound, Problem, Refused
from core.scenarios import Language
from data.passwords import hash_password, needs_rehash, verify_password
from data.rows import is_duplicate, required_id
from data.store import Store
from data.tables import AccountRoleRow, AccountRow, SignInLinkRow, WebSessionRow

__all__ = ["LINK_LIFETIME", "WEB_SESSION_LIFETIME", "AccountRepository", "sign_in"]

LINK_LIFETIME: Final = timedelta(hours=24)
WEB_SESSION_LIFETIME: Final = timedelta(days=30)
"""How long a browser stays signed in after it was last seen."""

_TOUCH_EVERY: Final = timedelta(minutes=5)
_MAX_NAME_CHARACTERS: Final = 64
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"
"""Invisible, and yet part of correct spelling in Persian and in scripts of India."""


def sign_in(store: Store, name: str, password: str) -> Account | None:
    """The account with that name and password, or None. The answer takes as long for a name that does not exist.

    Strengthens the stored hash when today's parameters ask for more. Raises StoreError.
    """
    with store.reading() as session:
        row = session.exec(select(AccountRow).where(AccountRow.name_key == _key(name))).first()
        found = None if row is None else (required_id(row.id), row.password_hash)
    password_hash = None if found is None else found[1]
    if not verify_password(password, password_hash) or found is None or password_hash is None:
        return None
    if needs_rehash(password_hash):
        stronger = hash_password(password)
        with store.session() as session:
            # Only if the password is still the one that was checked.
            same = (col(AccountRow.id) == found[0], col(AccountRow.password_hash) == password_hash)
            session.exec(update(AccountRow).where(*same).values(password_hash=stronger))
    with store.reading() as session:
        account = AccountRepository(session).get(found[0])
    return None if account.disabled else account


class AccountRepository:
    """Works in the session that it is given, and never commits."""

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- reading ------------------------------------------------------------------------------------------------------

    def get(self, account_id: int) -> Account:
        """Raises NotFound."""
        return self._account(self._row(account_id))

    def by_name(self, name: str) -> Account:
        """The account of that name, in whatever case it is written. Raises NotFound."""
        row = self._session.exec(select(AccountRow).where(AccountRow.name_key == _key(name))).first()
        if row is None:
            raise NotFound("account", name)
        return self._account(row)

    def list(self, *, role: Role | None = None, include_disabled: bool = True) -> tuple[Account, ...]:
        """All accounts, by name."""
        rows = self._session.exec(select(AccountRow).order_by(col(AccountRow.name_key))).all()
        roles: dict[int, set[Role]] = {required_id(row.id): set() for row in rows}
        for held in self._session.exec(select(AccountRoleRow)):
            roles[held.account_id].add(Role(held.role))
        accounts = [_account(row, roles[required_id(row.id)]) for row in rows]
        return tuple(a for a in accounts if (role is None or role in a.roles) and (include_disabled or not a.disabled))

    # -- writing ------------------------------------------------------------------------------------------------------

    def add(
        self, name: str, roles: Iterable[Role], *, password_hash: str | None = None, language: Language | None = None
    ) -> Account:
        """Add an account. ``password_hash`` comes from :func:`data.passwords.hash_password`.

        Raises InvalidInput for a name that is empty, too long, unprintable or taken, and where no role is given.
        """
        wanted = set(roles)
        if not wanted:
            raise InvalidInput(Problem("roles", "an account needs at least one role", f"name one of {_names(Role)}"))
        row = AccountRow.model_validate(
            {
                "name": _checked_name(name),
                "name_key": _key(name),
                "password_hash": password_hash,
                "language": None if language is None else language.value,
                "created_at": utc_now(),
            }
        )
        self._session.add(row)
        try:
            self._session.flush()
        except IntegrityError as error:
            if is_duplicate(error):
                raise InvalidInput(Problem("name", f"there is an account {name!r} already", "choose another name")) from error
            raise
        self._session.add_all(AccountRoleRow(account_id=required_id(row.id), role=role.value) for role in wanted)
        self._session.flush()
        return self._account(row)

    def set_password(self, account_id: int, password_hash: str) -> None:
        """Set the password, given by its hash, and sign the account out everywhere. Raises NotFound."""
        self._row(account_id).password_hash = password_hash
        self.end_all_web_sessions(account_id)
        self._session.flush()

    def set_language(self, account_id: int, language: Language | None) -> Account:
        """Set the language of the pages; None: the browser's. Raises NotFound."""
        row = self._row(account_id)
        row.language = None if language is None else language.value
        self._session.flush()
        return self._account(row)

    def set_roles(self, account_id: int, roles: Iterable[Role]) -> Account:
        """Give the account exactly these roles. Raises NotFound, InvalidInput (no role), Refused (the last admin)."""
        wanted = set(roles)
        if not wanted:
            raise InvalidInput(Problem("roles", "an account needs at least one role", "disable it instead"))
        row = self._row(account_id)
        if Role.ADMIN not in wanted:
            self._keep_an_admin_besides(account_id)
        self._session.exec(delete(AccountRoleRow).where(col(AccountRoleRow.account_id) == account_id))
        self._session.add_all(AccountRoleRow(account_id=account_id, role=role.value) for role in wanted)
        self._session.flush()
        return self._account(row)

    def disable(self, account_id: int) -> Account:
        """Shut the account out: it is signed out everywhere, and its open links are void.

        Raises NotFound, Refused (the last admin).
        """
        row = self._row(account_id)
        self._keep_an_admin_besides(account_id)
        row.disabled_at = row.disabled_at or utc_now()
        self.end_all_web_sessions(account_id)
        open_links = (col(SignInLinkRow.account_id) == account_id, col(SignInLinkRow.used_at).is_(None))
        self._session.exec(delete(SignInLinkRow).where(*open_links))
        self._session.flush()
        return self._account(row)

    def enable(self, account_id: int) -> Account:
        """Let a disabled account in again. Raises NotFound."""
        row = self._row(account_id)
        row.disabled_at = None
        self._session.flush()
        return self._account(row)

    # -- one-time links -----------------------------------------------------------------------------------------------

    def issue_link(self, name: str, ttl: timedelta = LINK_LIFETIME) -> str:
        """Make a one-time sign-in link's token. Raises NotFound, Refused for a disabled account."""
        account = self.by_name(name)
        if account.disabled:
            raise Refused(f"account {account.name!r} is disabled; enable it first")
        token, now = secrets.token_urlsafe(32), utc_now()
        link = {"account_id": account.id, "token_hash": _hash(token), "created_at": now, "expires_at": now + ttl}
        self._session.add(SignInLinkRow.model_validate(link))
        self._session.flush()
        return token

    def redeem_link(self, token: str) -> Account:
        """Use a link up and return its account; of two at the same moment one gets it. Raises Forbidden."""
        now = utc_now()
        usable = (
            col(SignInLinkRow.token_hash) == _hash(token),
            col(SignInLinkRow.used_at).is_(None),
            col(SignInLinkRow.expires_at) > now,
        )
        taken = self._session.exec(update(SignInLinkRow).where(*usable).values(used_at=now))
        link = self._session.exec(select(SignInLinkRow).where(SignInLinkRow.token_hash == _hash(token))).first()
        account = None if taken.rowcount == 0 or link is None else self.get(link.account_id)
        if account is None or account.disabled:
            raise Forbidden("this link has been used, has expired, or never was one; ask for a new link")
        return account

    # -- signed-in browsers -------------------------------------------------------------------------------------------

    def start_web_session(self, account_id: int) -> str:
        """Sign a browser in; return the opaque token for its cookie. Raises NotFound, Refused for a disabled account."""
        account = self.get(account_id)
        if account.disabled:
            raise Refused(f"account {account.name!r} is disabled")
        token, now = secrets.token_urlsafe(32), utc_now()
        values = {"account_id": account_id, "token_hash": _hash(token), "created_at": now, "last_seen_at": now}
        self._session.add(WebSessionRow.model_validate(values))
        self._session.flush()
        return token

    def resolve_web_session(self, token: str) -> Account | None:
        """Whose browser this is; None if it was signed out, was away too long, or its account is disabled. Only reads."""
        row = self._session.exec(select(WebSessionRow).where(*self._open(token))).first()
        account = None if row is None else self.get(row.account_id)
        return None if account is None or account.disabled else account

    def touch_web_session(self, token: str) -> None:
        """Note that the browser was seen, at most once in five minutes."""
        now = utc_now()
        stale = (*self._open(token), col(WebSessionRow.last_seen_at) < now - _TOUCH_EVERY)
        self._session.exec(update(WebSessionRow).where(*stale).values(last_seen_at=now))

    def last_seen(self) -> dict[int, datetime]:
        """The latest time at which a browser of each account was noted, to within five minutes.

        Keyed by account id; who never signed in is left out.
        """
        latest = select(WebSessionRow.account_id, func.max(WebSessionRow.last_seen_at)).group_by(col(WebSessionRow.account_id))
        return {account_id: moment for account_id, moment in self._session.exec(latest) if moment is not None}

    def end_web_session(self, token: str) -> None:
        """Sign the browser out. Doing so twice is harmless."""
        self._session.exec(update(WebSessionRow).where(*self._open(token)).values(ended_at=utc_now()))

    def end_all_web_sessions(self, account_id: int) -> None:
        """Sign the account out everywhere."""
        running = (col(WebSessionRow.account_id) == account_id, col(WebSessionRow.ended_at).is_(None))
        self._session.exec(update(WebSessionRow).where(*running).values(ended_at=utc_now()))

    # -- inside -------------------------------------------------------------------------------------------------------

    def _open(self, token: str) -> tuple[ColumnElement[bool], ...]:
        seen_since: datetime = utc_now() - WEB_SESSION_LIFETIME
        return (
            col(WebSessionRow.token_hash) == _hash(token),
            col(WebSessionRow.ended_at).is_(None),
            col(WebSessionRow.last_seen_at) > seen_since,
        )

    def _row(self, account_id: int) -> AccountRow:
        row = self._session.get(AccountRow, account_id)
        if row is None:
            raise NotFound("account", str(account_id))
        return row

    def _account(self, row: AccountRow) -> Account:
        held = self._session.exec(select(AccountRoleRow.role).where(AccountRoleRow.account_id == row.id))
        return _account(row, {Role(role) for role in held})

    def _keep_an_admin_besides(self, account_id: int) -> None:
        """Raise Refused if nobody else could administer. Locks the admins, so that two cannot demote each other at once."""
        admins = (
            select(AccountRow.id)
            .join(AccountRoleRow, col(AccountRoleRow.account_id) == col(AccountRow.id))
            .where(AccountRoleRow.role == Role.ADMIN.value, col(AccountRow.disabled_at).is_(None))
            .with_for_update()
        )
        ids = set(self._session.exec(admins))
        if ids == {account_id}:
            raise Refused("this is the last admin who can sign in; make another admin first")


def _account(row: AccountRow, roles: set[Role]) -> Account:
    return Account(
        id=required_id(row.id),
        name=row.name,
        roles=frozenset(roles),
        language=None if row.language is None else Language(row.language),
        has_password=row.password_hash is not None,
        disabled=row.disabled_at is not None,
        created_at=row.created_at,
    )


def _checked_name(name: str) -> str:
    """The name as it is kept. Raises InvalidInput."""
    kept = unicodedata.normalize("NFC", name).strip()
    if not 1 <= len(kept) <= _MAX_NAME_CHARACTERS:
        raise InvalidInput(Problem("name", f"it has {len(kept)} characters", f"use 1 to {_MAX_NAME_CHARACTERS}"))
    unprintable = sorted({f"U+{ord(c):04X}" for c in kept if unicodedata.category(c) in _UNPRINTABLE and c not in _JOINERS})
    if unprintable:
        raise InvalidInput(Problem("name", f"it holds control characters ({', '.join(unprintable)})", "leave them out"))
    return kept


def _key(name: str) -> str:
    """Names that look the same are the same: compatibility forms and case are folded, runs of spaces are one."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    folded = folded.translate(dict.fromkeys(map(ord, _JOINERS)))
    return " ".join(storable(folded).split())


def _hash(token: str) -> str:
    # A fast hash is enough: tokens are 256 random bits, which nobody can guess.
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _names(roles: type[Role]) -> str:
    return ", ".join(role.value for role in roles)
