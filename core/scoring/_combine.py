"""One view of a dialogue out of the cards of several scorers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from core.scoring._scorecard import Scorecard

__all__ = ["EMBEDDED_STATE", "combine", "latest_of_each"]

EMBEDDED_STATE = "embedded-state"
"""The scorer that reads the embedded customer's own record of a dialogue, and needs to guess nothing."""


def latest_of_each(cards: Iterable[Scorecard]) -> dict[str, Scorecard]:
    """Of each scorer the card that was added last, by the scorer's name; the scorer that added last stands last.

    ``cards`` are in the order in which they were added.
    """
    latest: dict[str, Scorecard] = {}
    for card in cards:
        latest.pop(card.scorer, None)
        latest[card.scorer] = card
    return latest


def combine(cards: Sequence[Scorecard], intent_scorer: str | None = None, judge: str | None = None) -> Scorecard | None:
    """The card of a dialogue as it counts: intent from one scorer, sub-dimensions from one judge, findings from the detectors.

    Args:
        cards: all cards of the dialogue, in the order in which they were added. Of each scorer only the last one counts.
        intent_scorer: name of the scorer whose intent counts. None: the embedded customer's own record where there is one,
            else the scorer of intent that ran last.
        judge: name of the scorer whose sub-dimensions count, chosen in the same way.

    Returns one scorer's card as it is where it holds everything. Otherwise a card whose ``scorer`` and ``version`` name those it
    was put together from. Its final score is None while one of the two is missing. None where neither intent nor sub-dimensions
    are there: the dialogue is not scored yet.
    """
    latest = list(latest_of_each(cards).values())
    intent = _chosen(latest, intent_scorer, lambda card: card.intent is not None)
    judged = _chosen(latest, judge, lambda card: bool(card.dimensions) or card.stated_s_sell is not None)
    if intent is None and judged is None:
        return None
    offers = _chosen(latest, None, lambda card: card.unlisted_offers is not None)
    inverted = _chosen(latest, None, lambda card: card.inversions is not None)
    sources = list({card.scorer: card for card in (intent, judged, offers, inverted) if card is not None}.values())
    if len(sources) == 1:
        return sources[0]
    return Scorecard(
        scorer=" + ".join(card.scorer for card in sources),
        version=" + ".join(card.version for card in sources),
        intent=None if intent is None else intent.intent,
        probabilities=None if intent is None else intent.probabilities,
        reason="" if intent is None else intent.reason,
        dimensions=() if judged is None else judged.dimensions,
        stated_s_sell=None if judged is None else judged.stated_s_sell,
        learned=() if judged is None else judged.learned,
        objections=() if judged is None else judged.objections,
        unlisted_offers=None if offers is None else offers.unlisted_offers,
        inversions=None if inverted is None else inverted.inversions,
        created_at=max(card.created_at for card in sources),
    )


def _chosen(cards: Sequence[Scorecard], name: str | None, has: Callable[[Scorecard], bool]) -> Scorecard | None:
    """The card of that name, or without a name the preferred one, among those that have what is asked for."""
    able = [card for card in cards if has(card) and name in (None, card.scorer)]
    return next((card for card in able if card.scorer == EMBEDDED_STATE), able[-1] if able else None)
