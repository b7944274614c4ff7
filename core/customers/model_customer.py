"""A chat model in the customer's role."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

from core.customers._instructions import instructions_for
from core.customers._json_reply import REPLY_SCHEMA, ReplyExtractor, parse_reply
from core.customers._speech import SpeechFilter
from core.customers.guards import GUARDS_VERSION, Finding, inspect_reply
from core.dialogues import Dialogue, Participant, Role, TurnFlag, Usage
from core.errors import ModelMisbehaved, ModelRejected
from core.models import ChatBackend, ChatDelta, ChatMessage, ChatRequest, ChatRestart, ChatResult, FinishReason
from core.participants import Reply, ReplyEvent, Restart, TextDelta
from core.scenarios import Scenario
from core.scripts import SCRIPTS_VERSION, customer_script
from core.settings import Sampling

__all__ = ["ModelCustomer", "ReplyFormat", "reply_seed"]

ReplyFormat = Literal["json", "text"]

_DRAFTS = 2
"""A reply that the guards flag, or that holds no spoken words, is withdrawn and asked for once more."""

_SENTENCE_END = re.compile(r"[.!?…][\"')\]]*(?=\s|$)|[。！？…][”」）]*")


class ModelCustomer:
    """Plays the customer of a dialogue's scenario with any :class:`core.models.ChatBackend`.

    The script is the system message, the salesperson is the API's user and the customer its assistant; the domain's roles stop
    here. The seed of each request comes from the dialogue's seed and the index of the turn, so that a dialogue can be repeated as
    far as the endpoint allows. A reply that inverts the roles or leaks the script is withdrawn and asked for once more with a
    sharper reminder; if it does so again it is kept, and the turn carries the flag.

    Args:
        backend: the model; retrying on failures is its business. Not closed with the customer unless ``owns_backend``.
        sampling: temperature, top_p and max_tokens of every request.
        name: configured name, recorded on the dialogue.
        reply_format: ``json``: structured replies, with which the customer can end the dialogue. ``text``: plain ones, for models
            that were tuned to speak as a customer; such a customer never ends a dialogue itself.
    """

    def __init__(
        self,
        backend: ChatBackend,
        sampling: Sampling,
        name: str,
        reply_format: ReplyFormat = "json",
        *,
        owns_backend: bool = True,
    ) -> None:
        self._backend = backend
        self._sampling = Sampling(temperature=sampling.temperature, top_p=sampling.top_p, max_tokens=sampling.max_tokens)
        self._name = name
        self._format: ReplyFormat = reply_format
        self._owns_backend = owns_backend

    @property
    def participant(self) -> Participant:
        return Participant(kind="model", name=self._name)

    @property
    def settings(self) -> Mapping[str, Any]:
        return {
            "kind": "chat",
            "model": self._backend.model,
            **self._sampling.model_dump(),
            "reply_format": self._format,
            "scripts": SCRIPTS_VERSION,
            "guards": GUARDS_VERSION,
        }

    async def reply(self, dialogue: Dialogue) -> AsyncGenerator[ReplyEvent, None]:
        """Stream the customer's next turn; see :meth:`core.participants.Customer.reply`.

        Raises ModelRejected for a dialogue without a scenario, ModelMisbehaved if the reply holds no spoken words twice, and what
        the back end raises.
        """
        scenario = dialogue.scenario
        if scenario is None:
            raise ModelRejected(self._name, "the dialogue has no scenario, so its customer has no script; choose a scenario")
        script = customer_script(scenario)
        cost = _Cost()
        reminder = ""
        for draft in range(_DRAFTS):
            request = self._request(dialogue, scenario, script, reminder, draft)
            draft_text = _Draft(self._format, scenario.customer.persona.name)
            last = draft == _DRAFTS - 1
            async with aclosing(self._backend.stream(request)) as events:
                async for event in events:
                    match event:
                        case ChatDelta(text):
                            said = draft_text.feed(text)
                            if said:
                                cost.note_first_word()
                                yield TextDelta(said)
                        case ChatRestart(reason):
                            draft_text = _Draft(self._format, scenario.customer.persona.name)
                            cost.forget_first_word()
                            yield Restart(reason)
                        case ChatResult():
                            cost.add(event.usage)
                            draft_text.result = event
            tail = draft_text.finish()
            if tail:
                cost.note_first_word()
                yield TextDelta(tail)
            fault = draft_text.fault
            findings = () if fault else inspect_reply(draft_text.text, dialogue.language, script)
            if fault and last:
                raise ModelMisbehaved(self._name, fault)
            if (fault or findings) and not last:
                reminder = _reminder(findings, scenario)
                cost.forget_first_word()
                yield Restart(fault or ", ".join(finding.rule for finding in findings))
                continue
            yield Reply(
                text=draft_text.text,
                leaves=draft_text.leaves,
                model=self._backend.model,
                settings={**self.settings, "seed": request.seed},
                usage=cost.usage(),
                flags=_flags(findings),
            )
            return

    async def close(self) -> None:
        if self._owns_backend:
            await self._backend.close()

    def _request(self, dialogue: Dialogue, scenario: Scenario, script: str, reminder: str, draft: int) -> ChatRequest:
        instructions = instructions_for(scenario.language)
        structured = self._format == "json"
        system = "\n\n".join(part for part in (script, instructions.reply_form if structured else "", reminder) if part)
        return ChatRequest(
            messages=(ChatMessage("system", system), *_conversation(dialogue, scenario, structured=structured)),
            sampling=self._sampling,
            seed=reply_seed(dialogue.seed, len(dialogue.turns), draft),
            json_schema=REPLY_SCHEMA if structured else None,
        )


def reply_seed(dialogue_seed: int, turn_index: int, draft: int = 0) -> int:
    """The seed of one request: the same for the same place in the same dialogue, and unlike its neighbours'. 31 bits."""
    digest = hashlib.sha256(f"{dialogue_seed}|{turn_index}|{draft}".encode()).digest()
    return int.from_bytes(digest[:4], "big") & 0x7FFF_FFFF


def _conversation(dialogue: Dialogue, scenario: Scenario, *, structured: bool) -> list[ChatMessage]:
    """The turns as API messages: beginning with the user's, in strict alternation, sessions told apart."""
    instructions = instructions_for(scenario.language)
    user: list[str] = []
    messages: list[ChatMessage] = []
    session = 1
    for turn in dialogue.turns:
        if turn.session != session:
            session = turn.session
            user.append(instructions.new_session)
        if turn.role is Role.SALESPERSON:
            user.append(turn.text)
            continue
        messages.append(ChatMessage("user", "\n\n".join(user) or instructions.opens))
        user.clear()
        said = json.dumps({"reply": turn.text, "ends_conversation": False}, ensure_ascii=False) if structured else turn.text
        messages.append(ChatMessage("assistant", said))
    if dialogue.session != session:
        user.append(instructions.new_session)
    if not dialogue.session_turns:
        user.append(instructions.opens)
    messages.append(ChatMessage("user", "\n\n".join(user) or instructions.opens))
    return messages


def _reminder(findings: tuple[Finding, ...], scenario: Scenario) -> str:
    instructions = instructions_for(scenario.language)
    return "\n\n".join(instructions.reminders[flag] for flag in _flags(findings)) or instructions.malformed


def _flags(findings: tuple[Finding, ...]) -> tuple[TurnFlag, ...]:
    return tuple(dict.fromkeys(finding.flag for finding in findings))


class _Draft:
    """One attempt at a reply, as it comes in."""

    def __init__(self, reply_format: ReplyFormat, name: str) -> None:
        self._name = name
        self._extractor = ReplyExtractor() if reply_format == "json" else None
        self._speech = SpeechFilter(name)
        self._said: list[str] = []
        self.result: ChatResult | None = None
        self.text = ""
        self.leaves = False
        self.fault: str | None = None

    def feed(self, piece: str) -> str:
        """Take a piece of the model's answer and return what it adds to the spoken text."""
        said = self._speech.feed(self._extractor.feed(piece) if self._extractor is not None else piece)
        self._said.append(said)
        return said

    def finish(self) -> str:
        """Settle ``text``, ``leaves`` and ``fault``; return the last of the spoken text."""
        tail = self._speech.finish()
        self._said.append(tail)
        self.text = "".join(self._said)
        if self.result is None:
            self.fault = "the reply did not come to an end"
            return tail
        if self._extractor is not None:
            self._settle_structured(self.result)
        elif self.result.finish_reason is FinishReason.LENGTH:
            self.text = _whole_sentences(self.text)
        if self.fault is None and not self.text.strip():
            self.fault = "the reply held no spoken words"
        return tail

    def _settle_structured(self, result: ChatResult) -> None:
        try:
            parsed = parse_reply(result.text)
        except ValueError as error:
            cut = "; it was cut off at max_tokens" if result.finish_reason is FinishReason.LENGTH else ""
            self.fault = f'the reply is not in the agreed form: {error}{cut}; does this model need reply_format = "text"?'
            return
        self.leaves = parsed.ends_conversation
        # Read again from the whole: what was streamed stopped at the first "reply", the whole counts the last.
        whole = SpeechFilter(self._name)
        self.text = whole.feed(parsed.reply) + whole.finish()


def _whole_sentences(text: str) -> str:
    """The text up to its last full sentence; all of it if there is none."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]] if ends else text


@dataclass
class _Cost:
    """Tokens and attempts of all drafts; times from the first request, and the first word of the draft that stands."""

    started: float = field(default_factory=time.perf_counter)
    first_word_ms: float | None = None
    attempts: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def note_first_word(self) -> None:
        if self.first_word_ms is None:
            self.first_word_ms = self._elapsed_ms()

    def forget_first_word(self) -> None:
        self.first_word_ms = None

    def add(self, usage: Usage) -> None:
        self.attempts += usage.attempts
        if usage.prompt_tokens is not None:
            self.prompt_tokens = (self.prompt_tokens or 0) + usage.prompt_tokens
        if usage.completion_tokens is not None:
            self.completion_tokens = (self.completion_tokens or 0) + usage.completion_tokens

    def usage(self) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            first_token_ms=self.first_word_ms,
            latency_ms=self._elapsed_ms(),
            attempts=self.attempts,
        )

    def _elapsed_ms(self) -> float:
        return (time.perf_counter() - self.started) * 1000.0
