"""Does selling well pay? Scripted salespeople over the whole library, every tier, several seeds."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import pytest

from core.customers.embedded.scorecard import score_state
from core.scenarios import Tier
from core.scoring import Intent
from tests.core.customers.embedded.acting import SELLERS, library, play

SEEDS = range(3)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outcomes() -> dict[tuple[str, Tier], list[tuple[float, Intent, int]]]:
    """Final score, intent and rounds of every dialogue, by salesperson and tier."""
    table: dict[tuple[str, Tier], list[tuple[float, Intent, int]]] = {}
    for name, seller in SELLERS.items():
        for scenario in library():
            for seed in SEEDS:
                played = play(scenario, seller, seed)
                card = score_state(played.state, scenario)
                final, intent = card.final(), card.intent
                assert final is not None
                assert intent is not None
                table.setdefault((name, scenario.tier.tier), []).append((final, intent, len(played.texts)))
    return table


def test_the_better_salesperson_scores_higher_at_every_tier(
    outcomes: dict[tuple[str, Tier], list[tuple[float, Intent, int]]],
) -> None:
    means = {key: fmean(final for final, _, _ in rows) for key, rows in outcomes.items()}
    for name in SELLERS:
        for tier in Tier:
            rows = outcomes[name, tier]
            shares = Counter(intent for _, intent, _ in rows)
            classes = " ".join(f"{i.value} {shares[i] / len(rows):4.2f}" for i in reversed(Intent))
            print(
                f"{name:13} {tier.value:12} score {means[name, tier]:5.2f}  rounds {fmean(r for *_, r in rows):4.1f}  {classes}"
            )
    for tier in Tier:
        assert means["consultative", tier] > means["passive", tier] + 0.5
        assert means["passive", tier] > means["pushy", tier] + 0.1
    for name in SELLERS:
        by_tier = [means[name, tier] for tier in Tier]
        assert by_tier == sorted(by_tier, reverse=True)
        assert by_tier[0] > by_tier[-1] + 1.0


def test_propensity_is_a_prior_and_not_the_outcome(outcomes: dict[tuple[str, Tier], list[tuple[float, Intent, int]]]) -> None:
    def share(name: str, tier: Tier, *intents: Intent) -> float:
        rows = outcomes[name, tier]
        return sum(intent in intents for _, intent, _ in rows) / len(rows)

    assert 0.15 < share("consultative", Tier.HARD, Intent.A) < 0.85
    assert 0.02 < share("consultative", Tier.VERY_HARD, Intent.A) < 0.5
    assert share("consultative", Tier.ADVERSARIAL, Intent.A) == 0.0
    assert share("consultative", Tier.ADVERSARIAL, Intent.B) < 0.15
    assert share("pushy", Tier.EASY, Intent.A) < 0.3
    assert share("pushy", Tier.EASY, Intent.C, Intent.X, Intent.F) > 0.6
    assert share("passive", Tier.EASY, Intent.A) < 0.1
