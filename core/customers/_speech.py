"""From what a chat model writes to what its customer says: spoken words only.

Models decorate: a name in front, quotation marks around, *sighs*, thoughts in tags. The script forbids it and some do it anyway;
what has a plain form is taken off here rather than asked for again.
"""

from __future__ import annotations

import re

__all__ = ["SpeechFilter"]

_LABELS = ("customer", "buyer", "client", "prospect", "reply", "客户", "顾客", "买家", "回复")
_LONGEST_ASIDE = 60
_CLOSES = {"*": "*", "(": ")", "（": "）", "[": "]", "【": "】"}
_QUOTES = {'"': '"', "“": "”", "「": "」"}
_THOUGHT, _THOUGHT_END = "<think>", "</think>"

_ACTION_EN = re.compile(
    r"^\s*(?:\w+ly )?(?:sigh|laugh|chuckl|smil|nod|paus|shrug|frown|lean|look|glanc|rais|roll|cross|shak|think|clear|gestur|wav|"
    r"stand|sit|turn|grin|smirk|scoff|giggl|whisper|hesitat|scratch|tapp?|fold|check|rub|star|mutter|exhal|inhal|blink|winc|"
    r"squint|furrow|snort|hang|groan|shift|silence)\w{0,3}(?:es|s|ing|ed|e)?\b(?!\?)",
    re.IGNORECASE,
)
_ACTION_ZH = re.compile(
    r"叹气|叹了|皱眉|皱了|微笑|笑了|笑着|冷笑|苦笑|大笑|轻笑|沉默|停顿|顿了|点头|点了点|摇头|摇了摇|犹豫|思考|沉思|想了想|看了|看着|耸肩|撇嘴|翻白眼|"
    r"低头|抬头|清了清|语气|挂断|挂了|愣了|迟疑|无奈|翻看|拿起|放下|转身|摆手|摆了摆|心想|内心"
)


class SpeechFilter:
    """Takes the text in pieces of any size; what it gives out, joined, does not depend on how the text was cut.

    Drops thoughts in ``<think>`` tags, a speaker's label in front (``names`` are labels too), quotation marks around the whole,
    and stage directions between asterisks or brackets. Emphasis loses its asterisks and keeps its words.
    """

    def __init__(self, *names: str) -> None:
        self._labels = tuple(label.casefold() for label in (*_LABELS, *names))
        self._held = ""
        self._begun = False
        self._quote: str | None = None
        self._space = ""
        self._said = False

    def feed(self, piece: str) -> str:
        self._held += piece
        return self._release(final=False)

    def finish(self) -> str:
        """What was still held back. The text is complete."""
        return self._release(final=True)

    def _release(self, *, final: bool) -> str:
        out: list[str] = []
        if not self._begun and not self._begin(final=final):
            return ""
        if self._quote is not None and not self._settle_quote(final=final):
            return ""
        while self._held:
            if not self._step(out, final=final):
                break
        return "".join(out)

    def _begin(self, *, final: bool) -> bool:
        """Get past thoughts and label. False while more text could still change what they are."""
        text = self._held.lstrip()
        if _THOUGHT.startswith(text[: len(_THOUGHT)]) and not final and len(text) < len(_THOUGHT):
            return False
        if text.startswith(_THOUGHT):
            _, found, rest = text.partition(_THOUGHT_END)
            if not found and not final:
                return False
            self._held = rest
            return self._begin(final=final)
        length = self._label_length(text, final=final)
        if length is None:
            return False
        text = text[length:].lstrip()
        if not text and not final:
            return False
        self._held = text
        self._begun = True
        if text[:1] in _QUOTES:
            self._quote = _QUOTES[text[0]]
        return True

    def _label_length(self, text: str, *, final: bool) -> int | None:
        """Characters of ``text`` that are a speaker's label; None while it may still become one."""
        bare = text.lstrip("*#").casefold()
        for label in self._labels:
            if bare.startswith(label):
                found = re.match(rf"[*#]*{re.escape(label)}\**\s*[:：]\**\s*", text, re.IGNORECASE)
                if found:
                    return found.end()
                if not final and re.fullmatch(r"[*\s]*", bare[len(label) :]):
                    return None
            elif not final and label.startswith(bare):
                return None
        return 0

    def _settle_quote(self, *, final: bool) -> bool:
        """Decide about an opening quotation mark: off if its partner ends the text, else it belongs to what is said."""
        assert self._quote is not None
        end = self._held.find(self._quote, 1)
        rest = self._held[end + 1 :].strip() if end > 0 else ""
        if not final and (end < 0 or not rest):
            return False
        if end > 0 and not rest:
            self._held = self._held[1:end]
        elif end < 0:
            self._held = self._held[1:]
        self._quote = None
        return True

    def _step(self, out: list[str], *, final: bool) -> bool:
        """Give out or drop what stands in front of ``_held``; False while it must wait for more."""
        opening = next((place for place, character in enumerate(self._held) if character in _CLOSES), len(self._held))
        if opening:
            self._emit(self._held[:opening], out)
            self._held = self._held[opening:]
            return True
        if self._held.startswith("**"):
            self._held = self._held[2:]
            return True
        if len(self._held) == 1 and not final:
            return False
        end = self._held.find(_CLOSES[self._held[0]], 1, _LONGEST_ASIDE)
        starred = self._held[0] == "*"
        if starred and self._held[1:2].isspace():
            end = -1
        elif end < 0 and not final and len(self._held) < _LONGEST_ASIDE:
            return False
        if end < 0:
            if not (starred and (final or len(self._held) == 1)):
                self._emit(self._held[0], out)
            self._held = self._held[1:]
            return True
        inside = self._held[1:end]
        if not _is_stage_direction(inside):
            self._emit(inside if starred else self._held[: end + 1], out)
        self._held = self._held[end + 1 :]
        return True

    def _emit(self, text: str, out: list[str]) -> None:
        """Give out ``text``, but never whitespace at either end of the whole, nor twice what a dropped piece stood between."""
        for part in re.findall(r"\s+|\S+", text):
            if part.isspace():
                if self._said and len(part) > len(self._space):
                    self._space = part
                continue
            out.append(self._space + part)
            self._space, self._said = "", True


def _is_stage_direction(text: str) -> bool:
    return bool(_ACTION_EN.match(text) and len(text.split()) <= 9) or bool(_ACTION_ZH.search(text) and len(text) <= 20)
