"""The conversation: turns, the reply as it comes in, and the box to write in."""

from __future__ import annotations

from ui.components._base import DrawnComponent

__all__ = ["ChatPane"]


class ChatPane(DrawnComponent):
    """Messages to the browser, told apart by ``t``:

    * ``full``: the dialogue as it stands (:func:`ui.practice.views.chat_value`);
    * ``partial``: ``text``, the reply so far;
    * ``notice``: ``text``, why the last message was not taken; it goes back into the box;
    * ``hint``: ``text``, advice that was asked for.

    Events from the browser and the value that comes with each: ``submit`` (``text``, ``key``), ``retry``, ``stop`` (finish),
    ``select`` (``index``: branch there), ``tick`` (tell me how things stand), ``expand`` (a hint). Each carries ``id``, the
    dialogue's.
    """

    name_of_files = "chat_pane"
