"""The two sides of a dialogue as the engine sees them: small protocols, streaming, and free of any API's roles."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.dialogues import Dialogue, Participant, TurnFlag, Usage

__all__ = ["Customer", "CustomerSource", "Reply", "ReplyEvent", "Restart", "Salesperson", "SingleCustomer", "TextDelta"]


@dataclass(frozen=True)
class TextDelta:
    """More of the text."""

    text: str


@dataclass(frozen=True)
class Restart:
    """What was streamed so far is withdrawn; the text starts again."""

    reason: str


@dataclass(frozen=True)
class Reply:
    """The finished turn. Always the last event of a stream."""

    text: str
    leaves: bool = False
    """The speaker ends the dialogue with this turn."""
    model: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage | None = None
    flags: tuple[TurnFlag, ...] = ()
    state: Mapping[str, Any] | None = None
    """What a customer program knows after this turn (JSON); handed back through the stored turn."""


ReplyEvent = TextDelta | Restart | Reply


class Customer(Protocol):
    """A simulated buyer. Holds no dialogue: everything it needs is in the dialogue it is given."""

    @property
    def participant(self) -> Participant: ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """What produced the replies, for the record: sampling, version, guards."""
        ...

    def reply(self, dialogue: Dialogue) -> AsyncGenerator[ReplyEvent, None]:
        """Stream the customer's next turn: deltas, then one :class:`Reply`.

        Called with the salesperson's turn last, or with no turn in this session when the customer opens it.
        Raises :class:`core.errors.ModelError`; the same call may then be made again.
        """
        ...

    async def close(self) -> None: ...


class Salesperson(Protocol):
    """A model that sells. A human needs no such object: the page calls the engine."""

    @property
    def participant(self) -> Participant: ...

    def reply(self, dialogue: Dialogue) -> AsyncGenerator[ReplyEvent, None]:
        """Stream the salesperson's next turn, as :meth:`Customer.reply`."""
        ...

    async def close(self) -> None: ...


class CustomerSource(Protocol):
    """Where the engine gets the customer of a dialogue from, by its recorded name."""

    async def get(self, name: str) -> Customer: ...


class SingleCustomer:
    """A :class:`CustomerSource` that knows one customer, whatever its name."""

    def __init__(self, customer: Customer) -> None:
        self._customer = customer

    async def get(self, name: str) -> Customer:  # noqa: ARG002 (the one customer answers to every name)
        return self._customer
