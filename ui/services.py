"""Everything a face of the product needs, wired once."""

from __future__ import annotations

from dataclasses import dataclass

from core.accounts import Account
from core.customers.registry import Customers
from core.engine import DialogueEngine
from core.errors import Forbidden, NotFound
from core.practice import Practice
from core.settings import Settings
from core.threads import in_thread
from data.accounts import AccountRepository
from data.store import Store

__all__ = ["Services"]


@dataclass(frozen=True)
class Services:
    """Handed to page builders and routes. Holds no state of its own."""

    settings: Settings
    store: Store
    engine: DialogueEngine
    practice: Practice
    customers: Customers | None = None

    async def close(self) -> None:
        """Stop the replies under way and the models that were opened. Belongs to the event loop that used them."""
        await self.engine.close()
        if self.customers is not None:
            await self.customers.close()

    async def account(self, name: str | None) -> Account:
        """The account that a request was let in with, as it stands now. Raises Forbidden if it is gone or disabled."""
        if not name:
            raise Forbidden("nobody is signed in")
        return await in_thread(lambda: self._account(name))

    def _account(self, name: str) -> Account:
        try:
            with self.store.reading() as session:
                account = AccountRepository(session).by_name(name)
        except NotFound:
            raise Forbidden(f"account {name!r} is gone") from None
        if account.disabled:
            raise Forbidden(f"account {name!r} is disabled")
        return account
