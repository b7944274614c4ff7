"""Stores, dialogues and scenarios for tests of what is kept."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from hypothesis import strategies as st
from sqlalchemy import create_engine, make_url, text

from core.dialogues import Dialogue, EndReason, Failure, Mode, NewTurn, Participant, Role, Turn, TurnFlag, Usage
from core.scenarios import Domain, FactTopic, Language, ObjectionKind, Opener, Scenario, Setting, Tier
from core.scoring import (
    Dimension,
    DimensionScore,
    FlaggedTurn,
    Intent,
    LearnedFact,
    ObjectionOutcome,
    Provenance,
    Scorecard,
    UnlistedOffer,
)
from data.library import SHIPPED_LIBRARY, Library, load

POSTGRES = os.environ.get("SALESFLOOR_TEST_POSTGRES")
"""URL of a server on which tests may make and drop databases."""

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@contextmanager
def fresh_postgres() -> Iterator[str]:
    """An empty database of its own, dropped afterwards; yields its URL."""
    url = make_url(str(POSTGRES)).set(drivername="postgresql+psycopg")
    name = f"salesfloor_test_{secrets.token_hex(6)}"
    server = create_engine(url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        with server.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        server.dispose()


@cache
def shipped() -> Library:
    return load(SHIPPED_LIBRARY)


def deposit_only() -> Library:
    """A library of one product and its customers in both languages: quick to keep."""
    library = shipped()
    customers = {key: item for key, item in library.customers.items() if key[0] == "fin-deposit-01"}
    return replace(library, customers=customers, portfolios=())


@cache
def a_scenario(scenario_id: str = "fin-deposit-01.hard.en") -> Scenario:
    return next(scenario for scenario in shipped().scenarios() if scenario.id == scenario_id)


def new_dialogue(**changes: object) -> Dialogue:
    """A practice dialogue with no turns yet."""
    scenario = a_scenario()
    values: dict[str, object] = {
        "scenario": scenario,
        "scenario_id": scenario.id,
        "language": scenario.language,
        "domain": scenario.domain,
        "tier": scenario.tier.tier,
        "setting": scenario.setting,
        "propensity": scenario.propensity,
        "goal": scenario.goal,
        "mode": Mode.PRACTICE,
        "salesperson": Participant(kind="human", name="Mei"),
        "customer": Participant(kind="model", name="embedded"),
        "started_at": NOON,
    }
    return Dialogue.model_validate({**values, **changes})


def seller(text: str = "What matters most to you?", **changes: object) -> NewTurn:
    return NewTurn.model_validate({"role": Role.SALESPERSON, "text": text, "created_at": NOON, **changes})


def buyer(text: str = "That I can reach the money.", **changes: object) -> NewTurn:
    return NewTurn.model_validate({"role": Role.CUSTOMER, "text": text, "created_at": NOON, **changes})


def a_card(**changes: object) -> Scorecard:
    values: dict[str, object] = {
        "scorer": "embedded",
        "version": "1",
        "intent": Intent.B,
        "dimensions": [
            DimensionScore(dimension=Dimension.VERBAL_COMMITMENT, value=6.0, quotes=("Maybe.",), reason="conditional"),
            DimensionScore(dimension=Dimension.NEXT_STEP, value=4.0),
            DimensionScore(dimension=Dimension.INFORMATION_ELICITATION, value=8.0),
            DimensionScore(dimension=Dimension.OBJECTION_RESOLUTION, value=None, reason="no objection was raised"),
        ],
        "created_at": NOON,
    }
    return Scorecard.model_validate({**values, **changes})


# -- hypothesis -------------------------------------------------------------------------------------------------------

# Surrogates and NUL cannot be stored; what replaces them has tests of its own.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
words = st.text(characters, max_size=60).map(str.strip)
names = st.text(characters, min_size=1, max_size=30).map(str.strip).filter(bool)
times = st.timedeltas(timedelta(days=-9000), timedelta(days=9000)).map(lambda offset: NOON + offset)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(names, json_values, max_size=3)
scores = st.floats(0.0, 10.0) | st.integers(0, 10).map(float)
milliseconds = st.none() | st.floats(0.0, 1e6)
counts = st.none() | st.integers(0, 2**31 - 1)

usages = st.builds(
    Usage,
    prompt_tokens=counts,
    completion_tokens=counts,
    first_token_ms=milliseconds,
    latency_ms=milliseconds,
    attempts=st.integers(1, 9),
)


@st.composite
def turn_lists(draw: st.DrawFn, *, for_export: bool = False) -> tuple[Turn, ...]:
    count = draw(st.integers(0, 6))
    sessions = sorted(draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)))
    turns = []
    for index, session in enumerate(sessions):
        message_id = None if for_export else draw(st.none() | st.just(f"message-{index}"))
        turns.append(
            Turn(
                index=index,
                session=session,
                role=draw(st.sampled_from(Role)),
                text=draw(names),
                client_message_id=message_id,
                model=draw(st.none() | names),
                settings=draw(json_objects),
                usage=draw(st.none() | usages),
                flags=tuple(draw(st.lists(st.sampled_from(TurnFlag), unique=True))),
                state=draw(st.none() | json_objects),
                created_at=draw(times),
            )
        )
    return tuple(turns)


@st.composite
def dialogues(draw: st.DrawFn, *, for_export: bool = False) -> Dialogue:
    """Any dialogue that the store can hold. ``for_export``: without what the salesfloor format leaves out."""
    turns = draw(turn_lists(for_export=for_export))
    over = draw(st.booleans())
    last = max((turn.session for turn in turns), default=1)
    scenario = None if for_export else draw(st.none() | st.sampled_from([a_scenario(), a_scenario("fin-deposit-01.easy.en")]))
    return Dialogue(
        id="d-" + draw(st.uuids()).hex,
        scenario=scenario,
        scenario_id=scenario.id if scenario else draw(st.none() | names),
        language=draw(st.sampled_from(Language)),
        domain=draw(st.none() | st.sampled_from(Domain)),
        tier=draw(st.none() | st.sampled_from(Tier)),
        setting=draw(st.sampled_from(Setting)),
        propensity=draw(st.none() | st.floats(0.0, 1.0)),
        goal=draw(words),
        mode=draw(st.sampled_from(Mode)),
        salesperson=Participant(kind=draw(st.sampled_from(["human", "model"])), name=draw(words)),
        customer=Participant(kind=draw(st.sampled_from(["human", "model"])), name=draw(words)),
        customer_settings=draw(json_objects),
        seed=draw(st.integers(-(2**63), 2**63 - 1)),
        opens=draw(st.sampled_from(Opener)),
        max_rounds=draw(st.integers(1, 200)),
        session=last + draw(st.integers(0, 1)),
        turns=turns,
        parent_id=draw(st.none() | names),
        branch_index=draw(st.none() | st.integers(0, 40)),
        started_at=draw(times),
        ended_at=draw(times) if over else None,
        ended_by=draw(st.sampled_from(EndReason)) if over else None,
        failure=None if for_export or over else draw(st.none() | failures),
        meta=draw(json_objects),
    )


failures = st.builds(Failure, kind=names, model=names, detail=names, retryable=st.booleans(), created_at=times)


@st.composite
def scorecards(draw: st.DrawFn) -> Scorecard:
    judged = [d for d in Dimension if draw(st.booleans())]
    quotes = st.lists(names, max_size=2).map(tuple)
    return Scorecard(
        scorer=draw(names),
        version=draw(words),
        intent=draw(st.none() | st.sampled_from(Intent)),
        dimensions=tuple(
            DimensionScore(
                dimension=d,
                value=draw(st.none() | scores),
                quotes=draw(quotes),
                reason=draw(words),
                samples=draw(st.lists(st.none() | scores, max_size=2).map(tuple)),
                stated=draw(st.none() | scores),
            )
            for d in judged
        ),
        learned=tuple(
            LearnedFact(topic=t, summary=draw(st.none() | words), turn_index=draw(counts))
            for t in draw(st.sets(st.sampled_from(FactTopic)))
        ),
        objections=tuple(
            ObjectionOutcome(
                concern_id=i, kind=draw(st.sampled_from(ObjectionKind)), label=i, eased=draw(st.booleans()), raised_turn=1
            )
            for i in draw(st.lists(names, max_size=1))
        ),
        unlisted_offers=draw(
            st.none() | st.lists(st.builds(UnlistedOffer, turn_index=st.just(2), quote=names, what=names), max_size=1)
        ),
        inversions=draw(st.none() | st.lists(st.builds(FlaggedTurn, turn_index=st.just(1), quote=names, rule=names), max_size=1)),
        stated_s_sell=draw(st.none() | scores),
        probabilities=draw(st.none() | st.dictionaries(st.sampled_from(Intent), st.floats(0.0, 1.0))),
        reason=draw(words),
        provenance=draw(
            st.none() | st.builds(Provenance, model=st.none() | names, samples=st.integers(1, 3), latency_ms=st.none() | scores)
        ),
        created_at=draw(times),
    )


def later(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{(folder / 'salesfloor.sqlite').as_posix()}"
