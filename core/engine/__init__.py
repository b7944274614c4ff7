"""One engine for every dialogue: a human's send button and a model's loop both call :meth:`DialogueEngine.say`.

The flow of one round::

    say(id, text) ── store the salesperson's turn (on disk) ── return
                  └─ task: customer.reply(dialogue) ── deltas ──▶ follow(id), any number of followers
                                                    └─ store the reply, settle whether the dialogue is over
"""

from core.engine._engine import MAX_TURN_CHARACTERS, DialogueEngine
from core.engine._live import Phase, Snapshot
from core.engine._play import play
from core.engine._ports import DialogueStore
from core.engine.memory import MemoryDialogueStore

__all__ = ["MAX_TURN_CHARACTERS", "DialogueEngine", "DialogueStore", "MemoryDialogueStore", "Phase", "Snapshot", "play"]
