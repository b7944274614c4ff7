"""Imported once into the server that lives are forked from: a start then takes milliseconds, and most of a life is work.

Nothing is open at that point, no file and no thread, so a forked life is as good as a new process.
"""

from __future__ import annotations

import asyncio

from core.customers.embedded.customer import EmbeddedCustomer
from core.customers.embedded.understanding import understand
from tests.engine_kill import life
from tests.support.store_factory import new_dialogue, seller

__all__ = ["life"]


async def _read_the_phrase_books() -> None:
    dialogue = new_dialogue()
    turn = {**dict(seller()), "index": 0, "session": 1}
    asked = type(dialogue).model_validate({**dict(dialogue), "turns": [turn]})
    async for _ in EmbeddedCustomer(understand=understand, typing_speed=0.0).reply(asked):
        pass


asyncio.run(_read_the_phrase_books())
