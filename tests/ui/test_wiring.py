"""The parts put together as the server has them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from core.accounts import Account, Role
from core.dialogues import Dialogue, Mode, Participant, TurnFlag
from core.engine import Phase
from core.errors import InvalidInput
from core.scenarios import Language, Tier
from core.settings import Settings
from data.accounts import AccountRepository
from tests.support.store_factory import a_scenario, buyer, new_dialogue, seller
from ui.services import Services
from ui.wiring import open_services, own_scorecard


def settings_of(folder: Path, **changes: object) -> Settings:
    return Settings.model_validate({"data_dir": folder, "typing_speed": 0.0, **changes})


def salesperson(services: Services) -> Account:
    with services.store.session() as session:
        return AccountRepository(session).add("Mei", {Role.SALESPERSON})


@pytest.mark.parametrize("language", list(Language))
async def test_a_sale_from_the_catalogue_to_the_scorecard(language: Language, tmp_path: Path) -> None:
    with open_services(settings_of(tmp_path, max_rounds=3)) as services:
        mei = salesperson(services)
        practice = services.practice
        offered, sold = await practice.catalogue(mei)
        assert len(offered) == len({(scenario.base, scenario.language) for scenario in offered}) >= 48
        assert sold == {}
        said = "What matters most to you?" if language is Language.EN else "您最看重的是什么？"
        dialogue = await practice.start(mei, "fin-deposit-01", language, Tier.MEDIUM, seed=1)
        assert dialogue.customer == Participant(kind="model", name="embedded")
        await services.engine.settled(dialogue.id)
        for number in range(3):
            if (await practice.snapshot(mei, dialogue.id)).phase is Phase.OVER:
                break
            await practice.say(mei, dialogue.id, said, f"message-{number:03}")
            settled = await services.engine.settled(dialogue.id)
            assert settled.failure is None
            assert not {TurnFlag.ROLE_INVERSION, TurnFlag.SCRIPT_LEAK} & set(settled.turns[-1].flags)
        over = await practice.finish(mei, dialogue.id)
        assert over.is_over
        card = await practice.scorecard(mei, dialogue.id)
        assert card is not None
        assert card.final() is not None or card.s_sell is None
        assert await practice.scorecard(mei, dialogue.id) == card
        (listed,), total = await practice.sessions(mei)
        assert (listed.id, total, listed.rounds) == (dialogue.id, 1, over.rounds)
        assert listed.intent == (None if card.intent is None else card.intent.value)
        await services.close()


async def test_it_goes_on_after_a_restart(tmp_path: Path) -> None:
    with open_services(settings_of(tmp_path)) as services:
        mei = salesperson(services)
        dialogue = await services.practice.start(mei, "con-phone-01", Language.EN, None, seed=7)
        await services.engine.settled(dialogue.id)
        await services.practice.say(mei, dialogue.id, "Hello, what are you looking for?", "message-001")
        before = await services.engine.settled(dialogue.id)
        await services.close()
    with open_services(settings_of(tmp_path)) as services:
        assert (await services.practice.snapshot(mei, dialogue.id)).dialogue == before
        await services.close()


def test_an_unknown_customer_is_refused_before_a_store_is_made(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "data", customer="nobody")
    with pytest.raises(InvalidInput, match="there is no such model"), open_services(settings):
        pass
    assert not (tmp_path / "data").exists()


def test_only_the_embedded_customers_dialogues_are_scored_at_once() -> None:
    silent = new_dialogue()
    assert own_scorecard(silent) is None
    assert own_scorecard(silent.model_copy(update={"customer": Participant(kind="model", name="customerlm")})) is None


def test_a_state_of_another_version_counts_as_not_scored(caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(3)
    turns = [
        {**dict(seller()), "index": 0, "session": 1},
        {**dict(buyer(state={"version": -rng.randrange(1, 9)})), "index": 1, "session": 1},
    ]
    dialogue = Dialogue.model_validate({**dict(new_dialogue(mode=Mode.PRACTICE, scenario=a_scenario())), "turns": turns})
    assert own_scorecard(dialogue) is None
    assert "cannot be scored" in caplog.text
