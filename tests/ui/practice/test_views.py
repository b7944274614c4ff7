"""What the practice pages show, and what they must not."""

from __future__ import annotations

import json

import pytest

from core.dialogues import Dialogue, DialogueSummary, EndReason, Mode, NewTurn, Participant, Role, Turn, TurnFlag, utc_now
from core.engine import Phase, Snapshot
from core.practice import TIER_DRAWN, Assignment
from core.scenarios import Language, Scenario, Tier
from core.scoring import Dimension, DimensionScore, Intent, Scorecard
from tests.core.test_scripts import secrets_of
from tests.support.store_factory import a_scenario, shipped
from ui.practice import views
from ui.texts import texts

EN, ZH = texts(Language.EN), texts(Language.ZH)
HOSTILE = "<img src=x onerror=alert(1)>${alert(2)}{{7*7}}"


def every_scenario() -> list[Scenario]:
    return [scenario for scenario in shipped().scenarios() if scenario.tier.tier is Tier.ADVERSARIAL]


def a_dialogue(scenario: Scenario | None = None, *, said: tuple[str, ...] = (), over: bool = False, **fields: object) -> Dialogue:
    turns = []
    for index, text in enumerate(said):
        role = Role.CUSTOMER if index % 2 else Role.SALESPERSON
        turns.append(
            Turn(index=index, session=1, **dict(NewTurn(role=role, text=text, state={"secret": 1} if index % 2 else None)))
        )
    dialogue = Dialogue.of(
        scenario or a_scenario(),
        mode=Mode.PRACTICE,
        salesperson=Participant(kind="human", name="sam"),
        customer=Participant(kind="model", name="embedded"),
        account_id=1,
        turns=tuple(turns),
    )
    ended = {"ended_by": EndReason.SALESPERSON, "ended_at": utc_now()} if over else {}
    return dialogue.model_copy(update={**ended, **fields})


@pytest.mark.parametrize("scenario", every_scenario(), ids=lambda scenario: scenario.id)
def test_the_pages_of_a_running_sale_hold_nothing_of_the_customers_side(scenario: Scenario) -> None:
    t = texts(scenario.language)
    dialogue = a_dialogue(scenario, mode=Mode.BASELINE)
    shown = " ".join(
        [
            views.brief_html(scenario, "", t),
            views.rules_html(scenario, "embedded", 20, t),
            views.side_html(dialogue, "", [], t),
            json.dumps(views.chat_value(Snapshot(dialogue, Phase.SALESPERSON), t), ensure_ascii=False),
        ]
    )
    given = f"{scenario.goal} {scenario.customer.prospect_note} {' '.join(p.model_dump_json() for p in scenario.products)}"
    leaked = [secret for secret in secrets_of(scenario) if secret in shown and secret not in given]
    assert not leaked
    assert scenario.id not in shown
    assert "adversarial" not in shown
    assert t("terms.tier_adversarial") not in shown


def test_the_order_of_a_portfolio_does_not_tell_the_target() -> None:
    portfolios = [scenario for scenario in every_scenario() if len(scenario.products) > 1]
    assert portfolios
    for scenario in portfolios:
        ids = [product.id for product in scenario.sheets]
        assert ids == sorted(ids)
        assert views.category_name(scenario, EN) == EN("terms.setting_multi_product")


def test_the_chat_carries_no_state_and_no_flags_while_selling() -> None:
    dialogue = a_dialogue(said=("Hello", "Hi"))
    flagged = dialogue.turns[1].model_copy(update={"flags": (TurnFlag.ROLE_INVERSION,)})
    dialogue = dialogue.model_copy(update={"turns": (dialogue.turns[0], flagged)})
    running = views.chat_value(Snapshot(dialogue, Phase.SALESPERSON), EN)
    assert "secret" not in json.dumps(running)
    assert [turn["flags"] for turn in running["turns"]] == [[], []]
    ended = views.chat_value(Snapshot(dialogue.model_copy(update={"ended_by": EndReason.CUSTOMER}), Phase.OVER), EN)
    assert ended["turns"][1]["flags"] == [EN("terms.flag_role_inversion")]


@pytest.mark.parametrize(("mode", "drawn", "over", "shown"), [
    (Mode.PRACTICE, False, False, True), (Mode.PRACTICE, True, False, False), (Mode.PRACTICE, True, True, True),
    (Mode.BASELINE, False, False, False), (Mode.BASELINE, False, True, False),
])  # fmt: skip
def test_who_sees_the_tier_and_when(mode: Mode, drawn: bool, over: bool, shown: bool) -> None:
    dialogue = a_dialogue(over=over, mode=mode, meta={TIER_DRAWN: True} if drawn else {})
    assert (views.tier_label(dialogue, EN) == EN("terms.tier_hard")) is shown
    assert (f">{EN('terms.tier_hard')}<" in views.side_html(dialogue, "", [], EN)) is shown


def test_hostile_text_is_escaped_everywhere() -> None:
    card = Scorecard(
        scorer=HOSTILE,
        version="1",
        intent=Intent.A,
        dimensions=(DimensionScore(dimension=Dimension.NEXT_STEP, value=7, quotes=(HOSTILE,), reason=HOSTILE),),
    )
    base = a_scenario()
    product = base.product.model_copy(update={"summary": HOSTILE, "name": HOSTILE})
    scenario = base.model_copy(update={"products": (product,), "title": HOSTILE})
    dialogue = a_dialogue(scenario, said=(HOSTILE, HOSTILE), over=True)
    summary = DialogueSummary(
        id="d-1", title=HOSTILE, scenario_id=None, language=Language.EN, tier=Tier.EASY, mode=Mode.PRACTICE, customer=HOSTILE,
        rounds=1, started_at=utc_now(), ended_at=utc_now(), ended_by=EndReason.ROUNDS, final=5.0, intent="A",
    )  # fmt: skip
    pages = [
        views.brief_html(scenario, "hard", EN),
        views.side_html(dialogue, views.outcome_html(dialogue, card, scenario.customer, None, EN), [summary], EN),
        views.sessions_html([summary], 1, 0, 50, EN),
        views.rules_html(scenario, HOSTILE, 20, EN),
        views.board_head(HOSTILE, 20, EN),
    ]
    assert all("<img" not in page for page in pages)
    assert any("&lt;img" in page for page in pages)


def test_the_scorecard_shows_what_does_not_apply_as_such() -> None:
    card = Scorecard(
        scorer="embedded-state",
        version="1",
        intent=Intent.C,
        dimensions=(
            DimensionScore(dimension=Dimension.VERBAL_COMMITMENT, value=4.0),
            DimensionScore(dimension=Dimension.OBJECTION_RESOLUTION, value=None, reason="none was raised"),
        ),
    )
    html = views.outcome_html(a_dialogue(said=("a", "b"), over=True), card, None, None, EN)
    assert EN("card.not_applicable") in html
    assert "5.0" in html, "0.5 * 6 + 0.5 * 4"


def test_not_scored_is_said_and_not_invented() -> None:
    spoken = views.outcome_html(a_dialogue(said=("a", "b"), over=True), None, None, None, EN)
    silent = views.outcome_html(a_dialogue(over=True), None, None, None, EN)
    assert EN("card.not_scored_help") in spoken
    assert EN("card.nothing_to_score") in silent
    assert 'class="figure' not in spoken


def test_branches_stand_under_what_they_branched_from() -> None:
    def member(name: str, parent: str | None, index: int | None) -> DialogueSummary:
        return DialogueSummary(
            id=name, title="t", scenario_id=None, language=Language.EN, tier=None, mode=Mode.PRACTICE, customer="embedded",
            rounds=1, started_at=utc_now(), parent_id=parent, branch_index=index,
        )  # fmt: skip

    family = [member("root", None, None), member("a", "root", 2), member("b", "root", 4), member("a1", "a", 2)]
    rows = views._branches(a_dialogue().model_copy(update={"id": "b"}), family, EN)
    assert [(row["href"], row["depth"], row["current"]) for row in rows] == [
        ("talk?d=root", 0, False), ("talk?d=a", 1, False), ("talk?d=a1", 2, False), ("talk?d=b", 1, True),
    ]  # fmt: skip


def test_the_board_says_what_is_assigned_without_saying_what_it_is() -> None:
    def assignment(number: int, dialogue: str | None = None, *, done: bool = False) -> Assignment:
        return Assignment(
            id=number,
            baseline="spring",
            position=number,
            total=3,
            language=Language.EN,
            title="t",
            dialogue_id=dialogue,
            done=done,
        )

    board = views.board_value([], {}, [assignment(1, "d-1", done=True), assignment(2, "d-2"), assignment(3)], EN, 20)
    assert board["assigned"] == {"baseline": "spring", "done": 1, "total": 3, "go_on": "d-2", "next": "3"}
    assert views.board_value([], {}, [], EN, 20)["assigned"] is None


def test_a_trend_needs_two_scores() -> None:
    assert "<polyline" not in views.sessions_html([], 0, 0, 50, ZH)
