"""A rollout: a model sells. A short loop around the same engine that a person's page calls."""

from __future__ import annotations

from contextlib import aclosing

from core.dialogues import Dialogue, EndReason, Role
from core.engine._engine import DialogueEngine
from core.errors import ModelMisbehaved
from core.participants import Reply, Salesperson

__all__ = ["play"]


async def play(engine: DialogueEngine, salesperson: Salesperson, dialogue_id: str) -> Dialogue:
    """Play a dialogue to its end, from wherever it stands, and return it.

    The message ids are made of the turn's place, so playing an interrupted dialogue again doubles nothing.
    A failed customer ends it with :attr:`EndReason.FAILED`. Raises ModelError when the salesperson's model fails: the dialogue
    then stays open.
    """
    snapshot = await engine.snapshot(dialogue_id)
    dialogue = snapshot.dialogue
    if dialogue.ended_by is EndReason.FAILED or (not dialogue.is_over and dialogue.awaits is Role.CUSTOMER):
        await engine.resume(dialogue_id)
        dialogue = await engine.settled(dialogue_id)
    while not dialogue.is_over:
        if dialogue.failure is not None and dialogue.awaits is Role.CUSTOMER:
            return await engine.finish(dialogue_id, reason=EndReason.FAILED)
        reply = await _whole(salesperson, dialogue)
        await engine.say(dialogue_id, reply.text, client_message_id=f"{dialogue_id}:{len(dialogue.turns)}", made=reply)
        dialogue = await engine.settled(dialogue_id)
        if reply.leaves and not dialogue.is_over and dialogue.failure is None:
            return await engine.finish(dialogue_id)
    return dialogue


async def _whole(salesperson: Salesperson, dialogue: Dialogue) -> Reply:
    async with aclosing(salesperson.reply(dialogue)) as events:
        async for event in events:
            if isinstance(event, Reply):
                if not event.text.strip():
                    raise ModelMisbehaved(salesperson.participant.name, "the turn was empty")
                return event
    raise ModelMisbehaved(salesperson.participant.name, "the turn did not come to an end")
