"""A scorer, whatever it looks at."""

from __future__ import annotations

from typing import Protocol

from core.dialogues import Dialogue
from core.scoring._scorecard import Scorecard

__all__ = ["Scorer"]


class Scorer(Protocol):
    """Gives scorecards to dialogues. Any number of calls may run at once. Belongs to one event loop.

    Names by convention, ``TRACK:HOW``: ``intent:embedded``, ``intent:encoder``, ``intent:llm:MODEL``,
    ``intent:llm-examples:MODEL``, ``judge:embedded``, ``judge:llm:MODEL``, ``inversion:rules``, ``inversion:llm:MODEL``,
    ``concessions:rules``. The embedded customer's own card is called ``embedded-state``.
    """

    @property
    def name(self) -> str:
        """What its scorecards call it: of each name, a dialogue's latest card counts."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same dialogue could get another score: with weights, prompts, rules or sampling."""
        ...

    def can_score(self, dialogue: Dialogue) -> str | None:
        """None where it can; otherwise why it cannot, in one English line (no encoder for the language, no customer turn …)."""
        ...

    async def score(self, dialogue: Dialogue) -> Scorecard:
        """Score one dialogue, alone. Raises :class:`core.errors.ModelError`; the call may then be made again."""
        ...

    async def close(self) -> None:
        """Free what it holds, but no model that it shares with others."""
        ...
