"""A dialogue as those who watch it see it: a reply in the making, and how things stand when none is being made."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from core.dialogues import Dialogue, Failure, Role

__all__ = ["Live", "Phase", "Snapshot", "settled_snapshot"]


class Phase(StrEnum):
    """What a dialogue is waiting for."""

    SALESPERSON = "salesperson"
    """The salesperson may speak."""
    ANSWERING = "answering"
    """The customer's reply is being made."""
    FAILED = "failed"
    """The last reply failed; it can be asked for again."""
    INTERRUPTED = "interrupted"
    """The program was stopped before the reply was stored; it can be asked for again."""
    OVER = "over"


@dataclass(frozen=True)
class Snapshot:
    """A dialogue as it stands, with the part of the running reply that has come in."""

    dialogue: Dialogue
    phase: Phase
    partial: str = ""
    failure: Failure | None = None


class Live:
    """A reply in the making: any number of followers may wait for its changes.

    ``task`` makes the reply. ``outcome`` is how it came out; None after the end: it was cut short, and the store knows more.
    """

    task: asyncio.Task[None]

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.partial = ""
        self.outcome: Snapshot | None = None
        self._version = 0
        self._changed = asyncio.Event()
        self._done = asyncio.Event()

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(self.dialogue, Phase.ANSWERING, self.partial)

    @property
    def done(self) -> bool:
        return self._done.is_set()

    @property
    def version(self) -> int:
        return self._version

    def notify(self) -> None:
        self._version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def finish(self) -> None:
        self._done.set()
        self.notify()

    async def wait_beyond(self, version: int) -> None:
        while self._version == version:
            await self._changed.wait()

    async def wait_done(self, seconds: float) -> None:
        """Wait for the end, but no longer than that."""
        if seconds > 0.0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._done.wait()


def settled_snapshot(dialogue: Dialogue) -> Snapshot:
    """What a dialogue waits for when no reply is being made."""
    if dialogue.is_over:
        return Snapshot(dialogue, Phase.OVER)
    if dialogue.awaits is Role.SALESPERSON:
        return Snapshot(dialogue, Phase.SALESPERSON)
    if dialogue.failure is not None:
        return Snapshot(dialogue, Phase.FAILED, failure=dialogue.failure)
    return Snapshot(dialogue, Phase.INTERRUPTED)
