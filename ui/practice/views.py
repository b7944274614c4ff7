"""Domain objects to what the practice pages show. What the salesperson may not know does not pass through here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from core.dialogues import Dialogue, DialogueSummary, Mode, Role
from core.engine import MAX_TURN_CHARACTERS, Phase, Snapshot
from core.factors import factor_name
from core.hints import Hint
from core.practice import TIER_DRAWN, Assignment
from core.scenarios import CustomerSide, Domain, Language, Scenario, Setting, Tier
from core.scoring import DEFAULT_WEIGHT, Scorecard
from ui.messages import failure_text
from ui.render import render
from ui.texts import Texts

__all__ = [
    "SURPRISE",
    "Card",
    "board_value",
    "brief_html",
    "chat_value",
    "outcome_html",
    "rules_html",
    "sessions_html",
    "side_html",
]

SURPRISE = "surprise"
"""In place of a tier: drawn by the server, told at the end."""


def page_address(page: str, **slots: str) -> str:
    """A relative address of a practice page: ``talk?d=…``."""
    return page + ("?" + urlencode(slots) if slots else "")


# -- the board --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Card:
    """What the board knows of a product and its customer, whatever the tier."""

    base: str
    language: Language
    domain: Domain
    category: str
    title: str
    category_name: str
    note: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, scenario: Scenario, texts: Texts) -> Card:
        return cls(
            base=scenario.base,
            language=scenario.language,
            domain=scenario.domain,
            category=scenario.category,
            title=scenario.title,
            category_name=category_name(scenario, texts),
            note=scenario.customer.prospect_note,
            names=tuple(product.name for product in scenario.products),
        )


def category_name(scenario: Scenario, texts: Texts) -> str:
    """The category as people call it. A portfolio has none of its own: the target's would give the target away."""
    if scenario.setting is Setting.MULTI_PRODUCT:
        return texts("terms.setting_multi_product")
    return scenario.product.category_name


def board_value(
    cards: Sequence[Card], sold: Mapping[tuple[str, Language], int], assignments: Sequence[Assignment], texts: Texts, rounds: int
) -> dict[str, Any]:
    """The value of :class:`ui.components.ScenarioBoard`."""
    return {
        "language": texts.language.value,
        "languages": [[language.value, texts(f"terms.language_{language.value}")] for language in Language],
        "domains": [[domain.value, texts(f"terms.domain_{domain.value}")] for domain in Domain],
        "tiers": [[tier.value, texts(f"terms.tier_{tier.value}")] for tier in Tier],
        "cards": [
            {
                "base": card.base,
                "language": card.language.value,
                "domain": card.domain.value,
                "category": card.category,
                "category_name": card.category_name,
                "title": card.title,
                "note": card.note,
                "names": list(card.names),
                "items": len(card.names),
                "sold": sold.get((card.base, card.language), 0),
            }
            for card in cards
        ],
        "assigned": _assigned(assignments),
        "rounds": rounds,
        "texts": texts.section("board"),
    }


def _assigned(assignments: Sequence[Assignment]) -> dict[str, Any] | None:
    if not assignments:
        return None
    begun = next((a for a in assignments if a.dialogue_id is not None and not a.done), None)
    waiting = next((a for a in assignments if a.dialogue_id is None), None)
    current = begun or waiting or assignments[-1]
    return {
        "baseline": current.baseline,
        "done": sum(a.done for a in assignments),
        "total": len(assignments),
        "go_on": begun.dialogue_id if begun else None,
        "next": str(waiting.id) if waiting else None,
    }


def board_head(customer: str, rounds: int, texts: Texts) -> str:
    """What stands above the board."""
    return render("practice/board_head.html", t=texts, rounds=rounds, partner=partner_note(customer, texts))


# -- the briefing -----------------------------------------------------------------------------------------------------


def brief_html(scenario: Scenario, tier: str, texts: Texts) -> str:
    """The salesperson's script before the sale. ``tier`` is a tier's value, :data:`SURPRISE`, or empty for an assignment."""
    return render(
        "practice/brief.html",
        t=texts,
        scenario=scenario,
        category=category_name(scenario, texts),
        sheets=scenario.sheets,
        home="./",
        tier=texts("terms.tier_hidden") if tier in ("", SURPRISE) else texts(f"terms.tier_{tier}"),
    )


def rules_html(scenario: Scenario, customer: str, rounds: int, texts: Texts) -> str:
    """How the sale ends and how it is scored."""
    return render(
        "practice/rules.html",
        t=texts,
        rounds=rounds,
        opens=texts(f"brief.opens_{scenario.customer.opens.value}"),
        partner=partner_note(customer, texts),
        weight=DEFAULT_WEIGHT,
    )


def partner_note(customer: str, texts: Texts) -> str:
    """Which simulator plays the customer, said plainly."""
    return texts("board.partner" if customer == "embedded" else "board.model", customer=customer)


# -- the conversation -------------------------------------------------------------------------------------------------


def hides_tier(dialogue: Dialogue) -> bool:
    """Whether the salesperson may not know the tier yet, or ever."""
    return dialogue.mode is Mode.BASELINE or (bool(dialogue.meta.get(TIER_DRAWN)) and not dialogue.is_over)


def tier_label(dialogue: Dialogue, texts: Texts) -> str:
    if dialogue.tier is None:
        return ""
    return texts("terms.tier_hidden") if hides_tier(dialogue) else texts(f"terms.tier_{dialogue.tier.value}")


def chat_value(snapshot: Snapshot, texts: Texts, draft: str = "") -> dict[str, Any]:
    """The ``full`` message of :class:`ui.components.ChatPane`."""
    dialogue = snapshot.dialogue
    over = snapshot.phase is Phase.OVER
    return {
        "t": "full",
        "id": dialogue.id,
        "lang": texts.language.value,
        "phase": snapshot.phase.value,
        "over": over,
        "ended": texts(f"terms.ended_{dialogue.ended_by.value}") if dialogue.ended_by is not None else "",
        "partial": snapshot.partial,
        "failure": failure_text(snapshot.failure, texts) if snapshot.failure is not None else "",
        "rounds": dialogue.rounds,
        "max_rounds": dialogue.max_rounds,
        "max_characters": MAX_TURN_CHARACTERS,
        "started_at": dialogue.started_at.isoformat(),
        "ended_at": dialogue.ended_at.isoformat() if dialogue.ended_at is not None else None,
        "may_branch": dialogue.mode is Mode.PRACTICE,
        "may_hint": dialogue.mode is Mode.PRACTICE and dialogue.customer.name == "embedded",
        "draft": draft,
        "turns": [
            {
                "i": turn.index,
                "role": turn.role.value,
                "text": turn.text,
                "at": turn.created_at.isoformat(),
                "session": turn.session,
                "key": turn.client_message_id,
                # While selling, a flag would tell the salesperson what only an observer should see.
                "flags": [texts(f"terms.flag_{flag.value}") for flag in turn.flags] if over else [],
            }
            for turn in dialogue.turns
        ],
        "texts": texts.section("talk"),
    }


def hint_text(hint: Hint | None, texts: Texts) -> str:
    if hint is None:
        return texts("hint.none")
    topic = texts(f"terms.topic_{hint.topic.value}") if hint.topic is not None else ""
    joined = texts("hint.joined").join(hint.evidence)
    return texts(f"hint.{hint.kind.value}", topic=topic, concern=hint.concern or "", evidence=joined)


def side_html(dialogue: Dialogue, outcome: str, family: Sequence[DialogueSummary], texts: Texts) -> str:
    """Script, rubric and branches; ``outcome`` stands first when the dialogue is over."""
    if dialogue.scenario is None:
        return outcome
    return render(
        "practice/side.html",
        t=texts,
        scenario=dialogue.scenario,
        sheets=dialogue.scenario.sheets,
        tier=tier_label(dialogue, texts),
        weight=DEFAULT_WEIGHT,
        outcome=outcome,
        branches=_branches(dialogue, family, texts),
    )


def _branches(dialogue: Dialogue, family: Sequence[DialogueSummary], texts: Texts) -> list[dict[str, Any]]:
    """The family as a tree in reading order: each dialogue under the one it branched from."""
    children: dict[str | None, list[DialogueSummary]] = {}
    known = {member.id for member in family}
    for member in family:
        children.setdefault(member.parent_id if member.parent_id in known else None, []).append(member)
    rows: list[dict[str, Any]] = []

    def visit(member: DialogueSummary, depth: int) -> None:
        label = texts("card.original")
        if member.branch_index is not None:
            label = texts("card.branch_from", round=member.branch_index // 2 + 1)
        result = texts("sessions.running") if member.ended_by is None else _number(member.final)
        rows.append(
            {
                "depth": depth,
                "label": label,
                "href": page_address("talk", d=member.id),
                "current": member.id == dialogue.id,
                "result": result,
            }
        )
        for child in children.get(member.id, []):
            visit(child, depth + 1)

    for root in children.get(None, []):
        visit(root, 0)
    return rows


def outcome_html(
    dialogue: Dialogue,
    card: Scorecard | None,
    hidden: CustomerSide | None,
    next_assignment: Assignment | None,
    texts: Texts,
) -> str:
    """The scorecard of a practice dialogue that is over, or the thanks for a baseline one."""
    scenario = dialogue.scenario
    again = "./"
    if scenario is not None and dialogue.mode is Mode.PRACTICE and dialogue.tier is not None:
        again = page_address("brief", base=scenario.base, language=scenario.language.value, tier=dialogue.tier.value)
    return render(
        "practice/outcome.html",
        t=texts,
        baseline=dialogue.mode is Mode.BASELINE,
        next_href=page_address("brief", a=str(next_assignment.id)) if next_assignment else None,
        home="./",
        again_href=again,
        dialogue_id=dialogue.id,
        card=_card(card, texts) if card is not None else None,
        not_scored=texts("card.not_scored_help" if _customer_spoke(dialogue) else "card.nothing_to_score"),
        source=_source(card, texts) if card is not None else "",
        hidden=hidden,
        propensity=_number(dialogue.propensity),
        tier=tier_label(dialogue, texts),
        factor_names=[factor_name(factor, dialogue.language) for factor in hidden.ranked_factors] if hidden else [],
        concerns=_concerns(scenario, hidden) if scenario is not None and hidden is not None else [],
    )


def _customer_spoke(dialogue: Dialogue) -> bool:
    return any(turn.role is Role.CUSTOMER for turn in dialogue.turns)


def _source(card: Scorecard, texts: Texts) -> str:
    if card.scorer.startswith("embedded"):
        return texts("card.source_embedded")
    return texts("card.source", scorer=card.scorer, version=card.version)


def _card(card: Scorecard, texts: Texts) -> dict[str, Any]:
    return {
        "final": _number(card.final()),
        "intent": card.intent.value if card.intent is not None else "–",
        "intent_name": texts(f"terms.intent_{card.intent.value}") if card.intent is not None else "",
        "s_sell": _number(card.s_sell),
        "dimensions": [
            {
                "name": texts(f"terms.dimension_{score.dimension.value}"),
                "value": texts("card.not_applicable") if score.value is None else _number(score.value),
                "share": None if score.value is None else round(10 * score.value),
                "reason": score.reason or ("" if score.quotes else texts("card.no_evidence")),
                "quotes": score.quotes,
            }
            for score in card.dimensions
        ],
        "learned": [{"name": texts(f"terms.topic_{fact.topic.value}"), "summary": fact.summary} for fact in card.learned],
        "objections": [
            {"label": item.label, "kind": texts(f"terms.objection_{item.kind.value}"), "eased": item.eased}
            for item in card.objections
        ],
        "offers": [{"quote": offer.quote, "what": offer.what} for offer in card.unlisted_offers or ()],
    }


def _concerns(scenario: Scenario, hidden: CustomerSide) -> list[dict[str, Any]]:
    return [
        {"worry": concern.worry, "met_by": [scenario.product.find_evidence(i).text for i in concern.eased_by]}
        for concern in hidden.concerns
    ]


# -- my sessions ------------------------------------------------------------------------------------------------------


def sessions_html(rows: Sequence[DialogueSummary], total: int, offset: int, limit: int, texts: Texts) -> str:
    """The account's own dialogues, one page of them."""
    return render(
        "practice/sessions.html",
        t=texts,
        home="./",
        rows=[_session_row(row, texts) for row in rows],
        total=total,
        first=offset + 1,
        last=offset + len(rows),
        newer_href=page_address("sessions", offset=str(max(0, offset - limit))) if offset > 0 else None,
        older_href=page_address("sessions", offset=str(offset + limit)) if offset + len(rows) < total else None,
        trend=_trend(rows, texts),
    )


def _session_row(row: DialogueSummary, texts: Texts) -> dict[str, Any]:
    hidden = row.mode is Mode.BASELINE or row.tier is None
    result = texts("sessions.running")
    if row.ended_by is not None:
        result = texts(f"terms.ended_{row.ended_by.value}")
        if row.intent is not None:
            result = f"{row.intent} · {texts(f'terms.intent_{row.intent}')}"
    return {
        "started": row.started_at.strftime("%Y-%m-%d %H:%M"),
        "started_iso": row.started_at.isoformat(),
        "title": row.title,
        "tier": texts("terms.tier_hidden") if hidden or row.tier is None else texts(f"terms.tier_{row.tier.value}"),
        "rounds": row.rounds,
        "result": result,
        "score": _number(row.final),
        "over": row.ended_by is not None,
        "branch": row.parent_id is not None,
        "baseline": row.mode is Mode.BASELINE,
        "href": page_address("talk", d=row.id),
    }


def _trend(rows: Sequence[DialogueSummary], texts: Texts) -> dict[str, Any] | None:
    """A line of final scores, oldest first; nothing to draw below two."""
    values = [row.final for row in reversed(rows) if row.final is not None]
    if len(values) < 2:
        return None
    width = 600
    dots = [(round(8 + i * (width - 16) / (len(values) - 1), 1), round(80 - 7 * value, 1)) for i, value in enumerate(values)]
    return {
        "width": width,
        "dots": dots,
        "points": " ".join(f"{x},{y}" for x, y in dots),
        "n": len(values),
        "mean": f"{sum(values) / len(values):.1f}",
        "spoken": texts("sessions.trend") + ": " + ", ".join(f"{value:.1f}" for value in values),
    }


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
