"""The one place where async code calls blocking code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.to_thread

__all__ = ["in_thread"]

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """Run a short blocking call (the store's) in a worker thread, so that other dialogues go on meanwhile.

    A cancelled caller stops waiting only when the call has ended: a transaction is never left without its answer.
    """
    # anyio's shield holds off anyio's own scopes, asyncio's holds off Task.cancel(); either may come.
    with anyio.CancelScope(shield=True):
        running = asyncio.create_task(anyio.to_thread.run_sync(call), name=in_thread.__name__)
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            while not running.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([running])
            if not running.cancelled():
                running.exception()
            raise
    return running.result()
