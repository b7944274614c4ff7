"""Whether a dialogue can be scored at all, whoever the scorer is."""

from __future__ import annotations

from core.dialogues import Dialogue, EndReason, Mode, Role

__all__ = ["not_ready"]


def not_ready(dialogue: Dialogue) -> str | None:
    """None for a dialogue that has come to its end and holds words of the customer; otherwise why not, in one English line.

    An imported dialogue is taken as it is, since its file need not say how it ended.
    """
    if not any(turn.role is Role.CUSTOMER for turn in dialogue.turns):
        return "the customer says nothing in it"
    if dialogue.ended_by is EndReason.FAILED:
        return "a model failed in it before its end"
    if not dialogue.is_over and dialogue.mode is not Mode.IMPORTED:
        return "it is still going on"
    return None
