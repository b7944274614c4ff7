"""Exports and imports: what goes out comes back byte for byte, and a file goes in whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.dialogues import Dialogue, EndReason, Mode, Role, TurnFlag, Usage, new_dialogue_id
from core.errors import InvalidInput, StoreError
from core.scenarios import Language, Tier
from core.scoring import Intent, Scorecard
from data.dialogues import DialogueFilter, DialogueRepository, SqlDialogueStore
from data.exports import dialogue_lines, export_dialogues
from data.imports import import_dialogues
from data.salesfloor_format import read_dialogue, to_line, write_dialogue
from data.scores import ScoreRepository
from data.store import Store
from tests.support.store_factory import NOON, a_card, buyer, dialogues, later, new_dialogue, scorecards, seller, sqlite_url

MINIMAL = {"id": "d-1", "language": "en", "goal": "Sell.", "turns": [{"role": "customer", "text": "Hello."}]}


@pytest.fixture
def other(tmp_path: Path) -> Store:
    store = Store(sqlite_url(tmp_path / "other"))
    store.migrate()
    return store


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path


def count(store: Store) -> int:
    with store.reading() as session:
        return DialogueRepository(session).page(DialogueFilter()).total


def a_full_dialogue(store: Store) -> Dialogue:
    kept = SqlDialogueStore(store)
    with store.session() as session:
        dialogue = DialogueRepository(session).add(new_dialogue(language="en", meta={"note": "第一次"}, seed=7))
    usage = Usage(prompt_tokens=100, completion_tokens=20, first_token_ms=12.5, latency_ms=80.0)
    kept.append(dialogue.id, seller('Hello — 你好 \u2028 "quoted" = 1'), 0)
    changes = {
        "model": "m",
        "settings": {"top_p": 0.99, "a": 1},
        "usage": usage,
        "flags": (TurnFlag.SCRIPT_LEAK,),
        "state": {"secret": "trust"},
    }
    kept.append(dialogue.id, buyer("Well.", created_at=later(1.5), **changes), 1, ends=EndReason.CUSTOMER)
    with store.session() as session:
        ScoreRepository(session).add(dialogue.id, a_card())
    return kept.load(dialogue.id)


# -- the format -------------------------------------------------------------------------------------------------------


def test_the_keys_of_a_line_and_their_order(sqlite_store: Store) -> None:
    dialogue = a_full_dialogue(sqlite_store)
    line = write_dialogue(dialogue, (a_card(),))
    assert list(line) == [
        "id", "scenario_id", "language", "domain", "tier", "setting", "propensity", "goal", "salesperson", "customer", "turns",
        "ended_by", "started_at", "mode", "seed", "ended_at", "scores", "meta",
    ]  # fmt: skip
    assert line["started_at"] == "2026-01-31T12:00:00Z"
    assert line["propensity"] == 0.2
    assert line["salesperson"] == {"kind": "human", "name": "Mei"}
    assert line["turns"][0] == {"role": "salesperson", "text": dialogue.turns[0].text, "session": 1}
    assert line["turns"][1]["created_at"] == "2026-01-31T12:01:30Z"
    assert line["turns"][1]["usage"] == {
        "prompt_tokens": 100, "completion_tokens": 20, "first_token_ms": 12.5, "latency_ms": 80.0, "attempts": 1,
    }  # fmt: skip
    score = line["scores"][0]
    assert (score["scorer"], score["s_buy"], score["intent"], score["next_step"]) == ("embedded", 8, "B", 4)
    assert score["objection_resolution"] is None


def test_what_the_customer_knew_is_never_exported(sqlite_store: Store) -> None:
    a_full_dialogue(sqlite_store)
    with sqlite_store.reading() as session:
        text = "".join(dialogue_lines(session))
    assert "secret" not in text
    assert "state" not in text


def test_the_documented_example_is_read() -> None:
    record = {
        "id": "d-0001", "scenario_id": "fin-deposit-01.hard.zh", "language": "zh", "domain": "financial", "tier": "hard",
        "setting": "single", "propensity": 0.2, "goal": "约定下一步", "salesperson": {"kind": "model", "name": "qwen3-max"},
        "customer": {"kind": "model", "name": "customerlm"},
        "turns": [{"role": "customer", "text": "你好", "session": 1}, {"role": "salesperson", "text": "您好", "session": 1}],
        "ended_by": "customer", "started_at": "2026-01-31T08:00:00Z",
        "scores": [{"scorer": "judge", "s_buy": 6, "intent": "C", "verbal_commitment": 4, "next_step": 3,
                    "information_elicitation": 6, "objection_resolution": None}],
        "meta": {},
    }  # fmt: skip
    read = read_dialogue(record, "x", unknown_time=NOON)
    assert (read.dialogue.tier, read.dialogue.language, read.dialogue.mode) == (Tier.HARD, Language.ZH, Mode.IMPORTED)
    assert [turn.role for turn in read.dialogue.turns] == [Role.CUSTOMER, Role.SALESPERSON]
    assert read.scores[0].intent is Intent.C
    assert read.scores[0].s_sell == pytest.approx(13 / 3)


def test_only_four_keys_are_required() -> None:
    dialogue = read_dialogue(MINIMAL, "x", unknown_time=NOON).dialogue
    assert dialogue.salesperson.name == "unknown"
    assert (dialogue.tier, dialogue.propensity, dialogue.ended_by, dialogue.started_at) == (None, None, None, NOON)


def test_an_intent_may_be_given_by_its_number() -> None:
    record = {**MINIMAL, "scores": [{"scorer": "judge", "s_buy": 10}]}
    assert read_dialogue(record, "x", unknown_time=NOON).scores[0].intent is Intent.A


def test_unknown_keys_are_kept_and_come_back() -> None:
    record = {
        **MINIMAL,
        "batch": 7,
        "turns": [{"role": "customer", "text": "Hello.", "mood": "sour"}],
        "salesperson": {"kind": "human", "name": "Mei", "team": "north"},
        "scores": [{"scorer": "judge", "prompt": "v3"}],
        "meta": {"site": "Leeds"},
    }
    read = read_dialogue(record, "x", unknown_time=NOON)
    assert read.dialogue.meta == {
        "site": "Leeds",
        "batch": 7,
        "unknown": {"salesperson.team": "north", "turns[0].mood": "sour", "scores[0].prompt": "v3"},
    }
    written = write_dialogue(read.dialogue, read.scores)
    again = read_dialogue(written, "x", unknown_time=NOON)
    assert to_line(write_dialogue(again.dialogue, again.scores)) == to_line(written)


@settings(max_examples=60, deadline=None)
@given(dialogue=dialogues(for_export=True), cards=st.lists(scorecards(), max_size=2).map(tuple))
def test_writing_and_reading_are_inverse(dialogue: Dialogue, cards: tuple[Scorecard, ...]) -> None:
    line = to_line(write_dialogue(dialogue, cards))
    read = read_dialogue(json.loads(line), "x", unknown_time=later(99))
    assert to_line(write_dialogue(read.dialogue, read.scores)) == line
    without_state = tuple(turn.model_copy(update={"state": None}) for turn in dialogue.turns)
    assert read.dialogue == dialogue.model_copy(update={"turns": without_state})
    assert [card.model_dump(exclude={"dimensions"}) for card in read.scores] == [
        c.model_dump(exclude={"dimensions"}) for c in cards
    ]
    assert [set(card.dimensions) for card in read.scores] == [set(card.dimensions) for card in cards]


# -- round trips ------------------------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(many=st.lists(st.tuples(dialogues(for_export=True), st.lists(scorecards(), max_size=2)), min_size=1, max_size=4))
def test_out_in_and_out_again_gives_the_same_bytes(tmp_path: Path, many: list[tuple[Dialogue, list[Scorecard]]]) -> None:
    folder = tmp_path / new_dialogue_id()
    stores = [Store(sqlite_url(folder / name)) for name in ("one", "two")]
    for store in stores:
        store.migrate()
    with stores[0].session() as session:
        for dialogue, cards in many:
            added = DialogueRepository(session).add(dialogue.model_copy(update={"id": new_dialogue_id()}))
            for card in cards:
                ScoreRepository(session).add(added.id, card)
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    assert export_dialogues(stores[0], first) == len(many)
    assert import_dialogues(stores[1], first).added == len(many)
    export_dialogues(stores[1], second)
    assert second.read_bytes() == first.read_bytes()
    for store in stores:
        store.close()
    shutil.rmtree(folder)


def test_branches_are_tied_to_their_parents_again(sqlite_store: Store, other: Store, tmp_path: Path) -> None:
    with sqlite_store.session() as session:
        repository = DialogueRepository(session)
        root = repository.add(new_dialogue(started_at=later(5)))
        branch = repository.add(new_dialogue(parent_id=root.id, branch_index=0))  # begun, by its clock, before its parent
    export_dialogues(sqlite_store, tmp_path / "out.jsonl")
    import_dialogues(other, tmp_path / "out.jsonl")
    with other.reading() as session:
        assert {item.id for item in DialogueRepository(session).family(root.id)} == {root.id, branch.id}


def test_an_export_can_be_narrowed_and_is_private(sqlite_store: Store, tmp_path: Path) -> None:
    a_full_dialogue(sqlite_store)
    assert export_dialogues(sqlite_store, tmp_path / "none.jsonl", DialogueFilter(mode=Mode.ROLLOUT)) == 0
    assert (tmp_path / "none.jsonl").read_bytes() == b""
    export_dialogues(sqlite_store, tmp_path / "all.jsonl")
    text = (tmp_path / "all.jsonl").read_bytes()
    assert text.count(b"\n") == 1
    assert "你好".encode() in text


def test_an_export_that_fails_leaves_nothing(sqlite_store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        export_dialogues(sqlite_store, tmp_path / "none" / "out.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        export_dialogues(sqlite_store, tmp_path / "folder.jsonl")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data", "folder.jsonl"]


# -- imports ----------------------------------------------------------------------------------------------------------


def test_importing_again_changes_nothing_and_says_so(other: Store, tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", MINIMAL, {**MINIMAL, "id": "d-2", "scores": [{"scorer": "judge", "s_buy": 6}]})
    assert str(import_dialogues(other, path)) == "in.jsonl: 2 dialogues added"
    again = import_dialogues(other, path)
    assert (again.added, again.unchanged, again.scores) == (0, 2, 0)
    assert str(again) == "in.jsonl: nothing new; all 2 dialogues are in the store already"


def test_importing_into_the_store_it_came_from_changes_nothing(sqlite_store: Store, tmp_path: Path) -> None:
    dialogue = a_full_dialogue(sqlite_store)
    export_dialogues(sqlite_store, tmp_path / "out.jsonl")
    with sqlite_store.session() as session:
        ScoreRepository(session).add(dialogue.id, a_card(scorer="judge"))
    report = import_dialogues(sqlite_store, tmp_path / "out.jsonl")
    assert (report.added, report.unchanged, report.scores) == (0, 1, 0)
    assert SqlDialogueStore(sqlite_store).load(dialogue.id) == dialogue


def test_new_scores_of_a_known_dialogue_are_added(other: Store, tmp_path: Path) -> None:
    import_dialogues(other, write(tmp_path / "in.jsonl", MINIMAL))
    scored = {**MINIMAL, "scores": [{"scorer": "judge", "s_buy": 6, "created_at": "2026-02-01T00:00:00Z"}]}
    report = import_dialogues(other, write(tmp_path / "scored.jsonl", scored))
    assert (report.added, report.unchanged, report.scores) == (0, 1, 1)
    with other.reading() as session:
        assert ScoreRepository(session).latest("d-1")["judge"].intent is Intent.C


def test_a_known_dialogue_that_differs_is_refused_with_all_others(other: Store, tmp_path: Path) -> None:
    import_dialogues(other, write(tmp_path / "in.jsonl", MINIMAL))
    changed = {**MINIMAL, "goal": "Sell more."}
    path = write(tmp_path / "changed.jsonl", {**MINIMAL, "id": "d-9"}, changed)
    with pytest.raises(InvalidInput, match=r"changed\.jsonl:2: the store has another dialogue with id 'd-1'"):
        import_dialogues(other, path)
    assert count(other) == 1


def line_with(**changes: Any) -> str:
    return json.dumps({"id": "x", "language": "en", "goal": "", "turns": [], **changes})


BAD_LINES: dict[str, tuple[str, str]] = {
    "no JSON": ("{", "not JSON"),
    "no object": ("[1]", "it is not a JSON object"),
    "no id": ('{"language": "en", "goal": "", "turns": []}', "id: it is missing; add it"),
    "unknown language": (line_with(language="fr"), "language: Input should be 'en' or 'zh'; got 'fr'"),
    "unknown role": (
        line_with(turns=[{"role": "user", "text": "a"}]),
        "turns[0].role: Input should be 'salesperson' or 'customer'; got 'user'",
    ),
    "no text": (line_with(turns=[{"role": "customer", "text": " "}]), "turns[0].text"),
    "sessions in disorder": (
        line_with(turns=[{"role": "customer", "text": "a", "session": 2}, {"role": "customer", "text": "a"}]),
        "turns: a later turn belongs to an earlier session; put the turns in order",
    ),
    "a session that is over": (
        line_with(turns=[{"role": "customer", "text": "a", "session": 2}], session=1),
        "session: turns go on to session 2",
    ),
    "a propensity outside its range": (line_with(propensity=2), "propensity: Input should be less than or equal to 1; got 2"),
    "NaN": (line_with(propensity=float("nan")), "NaN is not JSON; write null for a missing number"),
    "too large a number": (line_with(meta={"a": 2}).replace("2", "1e999"), "1e999 is too large for a number"),
    "a time without a zone": (line_with(started_at="2026-01-31T08:00:00"), "started_at: Input should have timezone info"),
    "a key twice": ('{"id": "x", "id": "y", "language": "en"}', "key 'id' stands twice in one object"),
    "NUL": (line_with(goal="a\x00"), "it holds NUL characters"),
    "half a pair": (line_with(meta={"a": "\ud83d"}), "it holds NUL characters or halves of surrogate pairs"),
    "the id of another line": (json.dumps(MINIMAL), "id 'd-1' was used at in.jsonl:1; give each its own id"),
    "a number that is no class": (
        line_with(scores=[{"scorer": "j", "s_buy": 7}]),
        "scores[0].s_buy: 7 is no class of intent; use 2, 4, 6, 8 or 10",
    ),
    "a number and a class that differ": (
        line_with(scores=[{"scorer": "j", "s_buy": 8, "intent": "A"}]),
        "scores[0].s_buy: 8 is class B, and intent says A; mend one of the two",
    ),
    "a score outside its range": (
        line_with(scores=[{"scorer": "j", "next_step": 11}]),
        "scores[0].next_step: Input should be less than or equal to 10; got 11",
    ),
    "details of another shape": (
        line_with(scores=[{"scorer": "j", "details": {"objections": 3}}]),
        "scores[0].details: objections: Input should be a valid tuple; got 3",
    ),
    "deep nesting": ('{"meta": ' + "[" * 100_000, "it is nested too deeply"),
    "a key of meta again": (line_with(a=1, meta={"a": 2}), "a: meta has another value under this key; rename one of the two"),
}


@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_bad_line_is_shown_and_nothing_is_imported(other: Store, tmp_path: Path, bad: str) -> None:
    line, fault = BAD_LINES[bad]
    message = f"in.jsonl:2: {fault}"
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(MINIMAL) + "\n" + line + "\n", "utf-8")
    with pytest.raises(InvalidInput) as caught:
        import_dialogues(other, path)
    assert [str(problem) for problem in caught.value.problems if message in str(problem)], caught.value
    assert count(other) == 0


def test_every_bad_line_is_shown(other: Store, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join([json.dumps(MINIMAL), *(line for line, _ in BAD_LINES.values())]), "utf-8")
    with pytest.raises(InvalidInput) as caught:
        import_dialogues(other, path)
    lines = {str(problem).split(":")[1] for problem in caught.value.problems}
    assert lines == {str(number) for number in range(2, len(BAD_LINES) + 2)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "in.jsonl: it holds no dialogues"),
        (b"\n \n", "in.jsonl: it holds no dialogues"),
        ('{"goal": "存款"}'.encode("gb18030"), "in.jsonl:1: byte 11 is not UTF-8"),
    ],
)
def test_files_that_hold_nothing(other: Store, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "in.jsonl").write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        import_dialogues(other, tmp_path / "in.jsonl")


def test_a_file_that_is_not_there(other: Store, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        import_dialogues(other, tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    "spoil", [lambda raw: b"\xef\xbb\xbf" + raw, lambda raw: raw.replace(b"\n", b"\r\n"), lambda raw: b"\n" + raw.strip()]
)
def test_files_from_other_systems(other: Store, tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path / "in.jsonl", MINIMAL, {**MINIMAL, "id": "d-2"})
    path.write_bytes(spoil(path.read_bytes()))
    assert import_dialogues(other, path).added == 2


def test_a_backslash_before_u_is_not_a_character(other: Store, tmp_path: Path) -> None:
    import_dialogues(other, write(tmp_path / "in.jsonl", {**MINIMAL, "goal": "write \\u0000 and \\ud83d"}))
    with other.reading() as session:
        assert DialogueRepository(session).get("d-1").goal == "write \\u0000 and \\ud83d"
