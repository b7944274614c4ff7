"""Salespeople that are not human. A scripted one ships beside the real thing, for trying things out and for tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from core.dialogues import Dialogue, Participant, Role
from core.participants import Reply, ReplyEvent

__all__ = ["ScriptedSalesperson"]


class ScriptedSalesperson:
    """Says its lines in order, whatever the customer answers, and ends the dialogue with the last one.

    The line is chosen by the place in the dialogue, so a dialogue that was interrupted goes on with the right one.
    """

    def __init__(self, lines: Sequence[str], name: str = "scripted") -> None:
        if not lines:
            raise ValueError("a scripted salesperson needs at least one line")
        self._lines = tuple(lines)
        self._name = name

    @property
    def participant(self) -> Participant:
        return Participant(kind="model", name=self._name)

    async def reply(self, dialogue: Dialogue) -> AsyncGenerator[ReplyEvent, None]:
        said = sum(turn.role is Role.SALESPERSON for turn in dialogue.turns)
        index = min(said, len(self._lines) - 1)
        yield Reply(self._lines[index], leaves=index == len(self._lines) - 1)

    async def close(self) -> None:
        """Nothing is held."""
