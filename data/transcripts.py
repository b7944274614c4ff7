"""A dialogue as one self-contained page: readable offline, in dark mode and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from core.dialogues import Dialogue, Mode, Turn
from core.scenarios import Language
from core.scoring import Scorecard
from data.transcript_words import WORDS

__all__ = ["render_transcript"]

_HTML_LANGUAGE: Final = {Language.EN: "en", Language.ZH: "zh-Hans"}

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)


def render_transcript(dialogue: Dialogue, card: Scorecard | None = None, *, language: Language | None = None) -> str:
    """The transcript as HTML, labelled in ``language`` (default: the dialogue's), for the one who sold it.

    Nothing of the customer's script is in it. A baseline dialogue shows neither its tier nor a scorecard, and a tier is shown
    only once the dialogue has ended.
    """
    spoken = language or dialogue.language
    return _templates.get_template("transcript.html").render(
        dialogue=dialogue,
        title=dialogue.scenario.title if dialogue.scenario else (dialogue.scenario_id or dialogue.id),
        words=WORDS[spoken],
        html_language=_HTML_LANGUAGE[spoken],
        dialogue_language=_HTML_LANGUAGE[dialogue.language],
        facts=_facts(dialogue, WORDS[spoken]),
        sessions=_sessions(dialogue),
        timed=len({turn.created_at for turn in dialogue.turns}) > 1,
        card=None if dialogue.mode is Mode.BASELINE else card,
    )


def _facts(dialogue: Dialogue, words: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [
        (words["salesperson"], dialogue.salesperson.name),
        (words["customer"], f"{dialogue.customer.name} ({words['kinds'][dialogue.customer.kind]})"),
        (words["started"], dialogue.started_at.strftime("%Y-%m-%d %H:%M UTC")),
        (words["ended"], words["endings"]["open" if dialogue.ended_by is None else dialogue.ended_by.value]),
    ]
    if dialogue.tier is not None and dialogue.is_over and dialogue.mode is not Mode.BASELINE:
        facts.append((words["tier"], words["tiers"][dialogue.tier.value]))
    return [*facts, (words["id"], dialogue.id)]


def _sessions(dialogue: Dialogue) -> list[tuple[int, Sequence[Turn]]]:
    sessions = sorted({turn.session for turn in dialogue.turns}) or [1]
    return [(number, [turn for turn in dialogue.turns if turn.session == number]) for number in sessions]
