"""The customer as the engine meets it: streaming, seeded, stateless."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from core.customers.embedded.acts import SellerMove, Understood
from core.customers.embedded.customer import EmbeddedCustomer
from core.customers.embedded.scorecard import embedded_scorecard
from core.customers.embedded.state import State
from core.dialogues import Dialogue, EndReason, Mode, Participant, Role, Turn
from core.errors import InvalidInput, ModelRejected
from core.participants import Customer, Reply, TextDelta
from core.scenarios import FactTopic, Language, Opener, Scenario, Tier
from tests.core.customers.embedded.acting import act, heard, scenario

START = datetime(2026, 1, 1, tzinfo=UTC)

SPOKEN: dict[str, Understood] = {
    "Hello! What brings you here?": heard(act(SellerMove.GREET), act(SellerMove.ASK_NEED)),
    "How much would you put in?": heard(act(SellerMove.ASK_FACT, topic=FactTopic.BUDGET)),
    "It is insured up to 250,000 dollars.": heard(act(SellerMove.INFORM, evidence_ids=("insurance",))),
    "What is holding you back?": heard(act(SellerMove.ASK_CONCERN)),
    "Only today! Sign now!": heard(act(SellerMove.PRESSURE), act(SellerMove.CLOSE)),
    "Hello again.": heard(act(SellerMove.GREET)),
}
LINES = list(SPOKEN)


def understand(text: str, scenario: Scenario, earlier: Sequence[str], last_customer_text: str | None) -> Understood:
    return SPOKEN[text]


def customer(typing_speed: float = 0.0) -> EmbeddedCustomer:
    return EmbeddedCustomer(understand=understand, typing_speed=typing_speed)


def new_dialogue(seed: int = 7, *, tier: Tier = Tier.MEDIUM, opens: Opener = Opener.SALESPERSON) -> Dialogue:
    chosen = scenario("fin-deposit-01", tier, Language.EN)
    return Dialogue(
        id="d-test",
        scenario=chosen,
        scenario_id=chosen.id,
        language=chosen.language,
        goal=chosen.goal,
        mode=Mode.PRACTICE,
        salesperson=Participant(kind="human", name="sam"),
        customer=customer().participant,
        seed=seed,
        opens=opens,
        started_at=START,
    )


def append(dialogue: Dialogue, role: Role, text: str, reply: Reply | None = None) -> Dialogue:
    state = None if reply is None or reply.state is None else json.loads(json.dumps(reply.state))
    turn = Turn(role=role, text=text, index=len(dialogue.turns), session=dialogue.session, state=state, created_at=START)
    return dialogue.model_copy(update={"turns": (*dialogue.turns, turn)})


async def answer(dialogue: Dialogue, who: Customer | None = None) -> tuple[Reply, list[str]]:
    pieces, last = [], None
    async for event in (who or customer()).reply(dialogue):
        if isinstance(event, TextDelta):
            pieces.append(event.text)
        elif isinstance(event, Reply):
            last = event
    assert last is not None
    return last, pieces


async def sell(dialogue: Dialogue, *texts: str) -> Dialogue:
    for text in texts:
        dialogue = append(dialogue, Role.SALESPERSON, text)
        reply, _ = await answer(dialogue)
        dialogue = append(dialogue, Role.CUSTOMER, reply.text, reply)
    return dialogue


def spoken(dialogue: Dialogue) -> list[str]:
    return [turn.text for turn in dialogue.turns]


async def test_the_pieces_make_up_the_reply() -> None:
    reply, pieces = await answer(append(new_dialogue(), Role.SALESPERSON, LINES[0]))
    assert "".join(pieces) == reply.text
    assert len(pieces) > 5
    assert reply.model == "embedded"
    assert reply.usage is not None
    assert reply.usage.latency_ms is not None
    assert reply.settings["version"]


async def test_typing_takes_time(monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []

    async def nap(seconds: float) -> None:
        naps.append(seconds)

    monkeypatch.setattr("asyncio.sleep", nap)
    _, pieces = await answer(append(new_dialogue(), Role.SALESPERSON, LINES[0]), customer(typing_speed=20.0))
    assert naps[0] >= 0.3
    assert naps[1:] == [0.05] * len(pieces)


async def test_the_same_seed_gives_the_same_dialogue_and_another_one_varies() -> None:
    once = await sell(new_dialogue(3), *LINES[:5])
    again = await sell(new_dialogue(3), *LINES[:5])
    assert spoken(once) == spoken(again)
    assert once.customer_state == again.customer_state
    others = {tuple(spoken(await sell(new_dialogue(seed), *LINES[:5]))) for seed in range(8)}
    assert len(others) > 5


async def test_a_branch_goes_on_exactly() -> None:
    whole = await sell(new_dialogue(), *LINES[:4])
    branch = whole.model_copy(update={"id": "d-branch", "turns": whole.turns[:4], "parent_id": whole.id})
    assert spoken(await sell(branch, *LINES[2:4])) == spoken(whole)


async def test_asking_again_after_a_failure_gives_the_same_reply() -> None:
    dialogue = append(new_dialogue(), Role.SALESPERSON, LINES[0])
    first, _ = await answer(dialogue)
    second, _ = await answer(dialogue)
    assert (first.text, first.state) == (second.text, second.state)


async def test_the_customer_opens() -> None:
    reply, _ = await answer(new_dialogue(opens=Opener.CUSTOMER))
    assert reply.text in scenario("fin-deposit-01", Tier.MEDIUM, Language.EN).customer.opening_lines
    assert not reply.leaves


async def test_a_follow_up_session_starts_with_a_greeting_that_remembers() -> None:
    first = await sell(new_dialogue(), *LINES[:3])
    later = first.model_copy(update={"session": 2, "ended_at": None, "ended_by": None})
    sold = await sell(later, "Hello again.")
    state = State.from_json(sold.customer_state or {})
    assert state.session == 2
    assert state.told == State.from_json(first.customer_state or {}).told
    assert sold.turns[-1].text not in spoken(first)
    opened, _ = await answer(later.model_copy(update={"opens": Opener.CUSTOMER}))
    assert opened.text


async def test_the_state_survives_json() -> None:
    dialogue = await sell(new_dialogue(), *LINES[:5])
    stored = dialogue.customer_state
    assert stored is not None
    state = State.from_json(stored)
    assert state.to_json() == stored
    assert State.from_json(json.loads(json.dumps(state.to_json()))) == state


async def test_foreign_states_and_missing_scenarios_are_refused() -> None:
    dialogue = append(new_dialogue(), Role.SALESPERSON, LINES[0])
    with pytest.raises(ModelRejected, match="no scenario"):
        await answer(dialogue.model_copy(update={"scenario": None}))
    foreign = append(append(new_dialogue(), Role.SALESPERSON, LINES[0]), Role.CUSTOMER, "Hi.")
    with pytest.raises(ModelRejected, match="another customer"):
        await answer(append(foreign, Role.SALESPERSON, LINES[1]))
    odd = append(
        append(new_dialogue(), Role.SALESPERSON, LINES[0]), Role.CUSTOMER, "Hi.", Reply(text="Hi.", state={"version": 99})
    )
    with pytest.raises(InvalidInput, match="99"):
        await answer(append(odd, Role.SALESPERSON, LINES[1]))
    broken = append(
        append(new_dialogue(), Role.SALESPERSON, LINES[0]), Role.CUSTOMER, "Hi.", Reply(text="Hi.", state={"version": 1})
    )
    with pytest.raises(InvalidInput, match="interest"):
        await answer(append(broken, Role.SALESPERSON, LINES[1]))


async def test_pressure_in_the_end_drives_the_customer_away() -> None:
    dialogue = new_dialogue(tier=Tier.VERY_HARD)
    for _ in range(20):
        dialogue = append(dialogue, Role.SALESPERSON, "Only today! Sign now!")
        reply, _ = await answer(dialogue)
        dialogue = append(dialogue, Role.CUSTOMER, reply.text, reply)
        if reply.leaves:
            break
    assert reply.leaves
    assert len(dialogue.turns) < 20


async def test_every_quote_of_the_scorecard_was_said() -> None:
    dialogue = await sell(new_dialogue(), *LINES[:5])
    card = embedded_scorecard(dialogue.model_copy(update={"ended_by": EndReason.SALESPERSON}))
    customer_turns = [turn.text for turn in dialogue.turns if turn.role is Role.CUSTOMER]
    quotes = [quote for score in card.dimensions for quote in score.quotes]
    assert quotes
    assert all(any(quote in text for text in customer_turns) for quote in quotes)


def test_a_negative_typing_speed_is_refused() -> None:
    with pytest.raises(ValueError, match="below 0"):
        customer(typing_speed=-1.0)


async def test_closing_is_harmless() -> None:
    await customer().close()
