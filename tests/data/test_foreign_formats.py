"""Dialogues of other programs: what is read, what is refused, and that no file whatever causes anything but a clear line."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.dialogues import Dialogue, Role
from core.errors import InvalidInput
from core.scenarios import Language, Tier
from data import record_files
from data.dialogues import DialogueFilter, DialogueRepository
from data.foreign_formats import FORMATS, detect_format, format_named
from data.imports import ImportReport, import_dialogues
from data.store import Store

CHAT = {
    "messages": [
        {"role": "system", "content": "You sell."},
        {"role": "assistant", "content": "What matters to you?"},
        {"role": "user", "content": "The price."},
    ]
}
SHAREGPT = {"conversations": [{"from": "gpt", "value": "您好！"}, {"from": "human", "value": "多少钱？"}]}
SAMPLE = {
    "id": "s1",
    "epoch": 2,
    "uuid": "abc",
    "messages": [
        {"role": "user", "content": "attachment://h1"},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "It costs 3."}]},
    ],
    "attachments": {"h1": "What does it cost?"},
    "metadata": {"tier": "hard", "goal": "Sell the card.", "topic": "cards"},
    "scores": {"match": {"value": 1}},
}
LOG = {"version": 2, "status": "success", "eval": {"model": "openai/m", "task": "sell", "run_id": "r"}, "samples": [SAMPLE]}


def stored(store: Store) -> list[Dialogue]:
    with store.reading() as session:
        return list(DialogueRepository(session).iterate(DialogueFilter()))


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path


def archive(path: Path, samples: dict[str, Any] | None = None, header: Any = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", json.dumps(header or {key: LOG[key] for key in ("version", "status", "eval")}))
        for name, sample in (samples or {"samples/s1_epoch_2.json": SAMPLE}).items():
            made.writestr(name, json.dumps(sample))
        made.writestr("summaries.json", "[]")
    return path


def taken_in(store: Store, path: Path, **options: str) -> list[Dialogue]:
    import_dialogues(store, path, format_named(detect_format(path), **options))
    return stored(store)


# -- what is read -----------------------------------------------------------------------------------------------------


def test_chat_messages(sqlite_store: Store, tmp_path: Path) -> None:
    (dialogue,) = taken_in(sqlite_store, lines(tmp_path / "in.jsonl", {**CHAT, "model": "m-1", "tier": "easy", "source": "x"}))
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [
        (Role.SALESPERSON, "What matters to you?"),
        (Role.CUSTOMER, "The price."),
    ]
    assert (dialogue.language, dialogue.tier, dialogue.salesperson.name) == (Language.EN, Tier.EASY, "m-1")
    assert dialogue.meta == {"source": "x", "script": "You sell."}


def test_the_salesperson_may_be_the_user(sqlite_store: Store, tmp_path: Path) -> None:
    (dialogue,) = taken_in(sqlite_store, lines(tmp_path / "in.jsonl", CHAT), salesperson_role="user", model="mine")
    assert [turn.role for turn in dialogue.turns] == [Role.CUSTOMER, Role.SALESPERSON]
    assert dialogue.salesperson.name == "mine"


@pytest.mark.parametrize("role", ["gpt", "assistant", "GPT"])
def test_sharegpt_in_chinese_as_a_list(sqlite_store: Store, tmp_path: Path, role: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(json.dumps([SHAREGPT], ensure_ascii=False, indent=1), "utf-8")
    (dialogue,) = taken_in(sqlite_store, path, salesperson_role=role)
    assert (dialogue.language, [turn.text for turn in dialogue.turns]) == (Language.ZH, ["您好！", "多少钱？"])
    assert dialogue.turns[0].role is Role.SALESPERSON


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("kind", ["eval", "json"])
def test_inspect_logs(sqlite_store: Store, tmp_path: Path, kind: str, indent: int | None) -> None:
    path = tmp_path / f"log.{kind}"
    if kind == "eval":
        archive(path)
    else:
        path.write_text(json.dumps(LOG, indent=indent), "utf-8")
    assert detect_format(path) == "inspect"
    (dialogue,) = taken_in(sqlite_store, path)
    assert [turn.text for turn in dialogue.turns] == ["What does it cost?", "It costs 3."]
    assert (dialogue.id, dialogue.salesperson.name, dialogue.goal) == ("inspect-abc", "openai/m", "Sell the card.")
    assert dialogue.tier is Tier.HARD
    assert dialogue.meta["inspect"] == {
        "task": "sell",
        "run_id": "r",
        "sample": "s1",
        "epoch": 2,
        "scores": {"match": {"value": 1}},
    }
    assert dialogue.meta["topic"] == "cards"


@pytest.mark.parametrize("record", [CHAT, SHAREGPT])
def test_importing_again_changes_nothing(sqlite_store: Store, tmp_path: Path, record: dict[str, Any]) -> None:
    path = lines(tmp_path / "in.jsonl", record)
    taken_in(sqlite_store, path)
    again = import_dialogues(sqlite_store, path, format_named(detect_format(path)))
    assert str(again) == "in.jsonl: nothing new; its one dialogue is in the store already"
    assert len(stored(sqlite_store)) == 1


# -- what is refused --------------------------------------------------------------------------------------------------

BAD_CHATS: dict[str, tuple[Any, str]] = {
    "no list": ({"messages": "hello"}, r"in.jsonl:1: messages is not a list; write messages as a list"),
    "a message that is none": ({"messages": ["hello"]}, r"in.jsonl:1: messages\[0\]: it is not an object"),
    "nobody sells": (
        {"messages": [{"role": "user", "content": "Hi."}]},
        r"nobody sells: no message has role 'assistant'; say which role does with --salesperson-role",
    ),
    "three speakers": (
        {"messages": [{"role": r, "content": "Hi."} for r in ("assistant", "user", "friend")]},
        r"messages\[2\]: role 'friend' is a third speaker beside 'assistant' and 'user'",
    ),
    "a tool": (
        {"messages": [{"role": "assistant", "content": "Hi."}, {"role": "tool", "content": "42"}]},
        r"messages\[1\]: role 'tool' is no speaker",
    ),
    "silence": ({"messages": [{"role": "assistant", "content": "  "}]}, r"messages\[0\]: the assistant says nothing"),
    "no role": ({"messages": [{"content": "Hi."}]}, r"messages\[0\]: it has no role"),
    "a picture": (
        {"messages": [{"role": "assistant", "content": [{"type": "image_url"}]}]},
        r"messages\[0\]: its content is not text",
    ),
    "an unknown tier": ({**CHAT, "tier": "brutal"}, r"in.jsonl:1: tier: .*'easy'"),
}


@pytest.mark.parametrize("name", list(BAD_CHATS))
def test_a_bad_chat_is_shown_and_nothing_is_imported(sqlite_store: Store, tmp_path: Path, name: str) -> None:
    record, message = BAD_CHATS[name]
    path = lines(tmp_path / "in.jsonl", record, CHAT)
    with pytest.raises(InvalidInput, match=message):
        import_dialogues(sqlite_store, path, format_named("openai"))
    assert stored(sqlite_store) == []


def test_the_same_chat_twice_is_refused(sqlite_store: Store, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"in.jsonl:2: id 'openai-.*' was used at in.jsonl:1"):
        taken_in(sqlite_store, lines(tmp_path / "in.jsonl", CHAT, CHAT))


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("header.json", json.dumps({"eval": LOG["eval"]}))
        made.writestr("samples/big.json", b" " * 4096)


def cut(path: Path) -> None:
    archive(path)
    path.write_bytes(path.read_bytes()[:-40])


def spoilt(path: Path) -> None:
    archive(path)
    content = bytearray(path.read_bytes())
    start = content.index(b"samples/s1_epoch_2.json") + len("samples/s1_epoch_2.json")
    content[start + 5 : start + 30] = b"\xff" * 25
    path.write_bytes(content)


def headless(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("readme.txt", "hello")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (bomb, "samples/big.json: it unpacks to more than 1,024 bytes"),
        (cut, "the archive cannot be read"),
        (spoilt, "the archive cannot be read"),
        (headless, "it holds no header.json with an 'eval'; name an Inspect log"),
    ],
)
def test_hostile_archives(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], message: str
) -> None:
    monkeypatch.setattr(record_files, "MAX_LINE_BYTES", 1024)
    make(tmp_path / "log.eval")
    with pytest.raises(InvalidInput, match=message):
        taken_in(sqlite_store, tmp_path / "log.eval")
    assert stored(sqlite_store) == []


@pytest.mark.parametrize("content", [b"", b"[", b"[]", b"[1]", b"{\n", b"nul", b"\xff\xfe[\x00", b"[" * 100_000, b'{"a":' * 9999])
@pytest.mark.parametrize("name", ["in.json", "in.jsonl"])
def test_broken_documents(sqlite_store: Store, tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"in\.json"):
        import_dialogues(sqlite_store, path, format_named(detect_format(path)))


def test_a_document_that_is_too_long_says_so(tmp_path: Path, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_files, "MAX_DOCUMENT_BYTES", 10)
    path = tmp_path / "in.json"
    path.write_text(json.dumps([CHAT]), "utf-8")
    with pytest.raises(
        InvalidInput, match=r"one JSON document of 1.. bytes; at most 10 are read at once; write it as JSON Lines"
    ):
        taken_in(sqlite_store, path)


# -- anything at all --------------------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
roles = st.sampled_from(["assistant", "user", "system", "tool", "human", "gpt", ""]) | st.text(max_size=5)
contents = st.text(max_size=12) | json_values
chats = st.fixed_dictionaries(
    {},
    optional={
        "messages": st.lists(st.fixed_dictionaries({}, optional={"role": roles, "content": contents}) | json_values, max_size=4)
        | json_values,
        "conversations": st.lists(st.fixed_dictionaries({}, optional={"from": roles, "value": contents}), max_size=4)
        | json_values,
        "turns": st.lists(st.fixed_dictionaries({}, optional={"role": roles, "text": contents}), max_size=3) | json_values,
        **dict.fromkeys(
            ("id", "language", "goal", "tier", "scores", "meta", "metadata", "eval", "attachments", "uuid", "model"), json_values
        ),
    },
)


def outcome_of(store: Store, path: Path, name: str) -> ImportReport | InvalidInput:
    """Any other exception fails the test."""
    try:
        return import_dialogues(store, path, format_named(name))
    except InvalidInput as error:
        return error


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(chats | json_values, max_size=3), name=st.sampled_from(list(FORMATS)), as_list=st.booleans())
def test_whatever_the_records_are_they_are_read_or_refused_whole(
    tmp_path: Path, sqlite_store: Store, records: list[Any], name: str, as_list: bool
) -> None:
    path = tmp_path / "in.jsonl"
    text = json.dumps(records) if as_list else "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(text, "utf-8")
    before = len(stored(sqlite_store))
    outcome = outcome_of(sqlite_store, path, name)
    if isinstance(outcome, InvalidInput):
        assert outcome.problems
        assert all(problem.place.startswith("in.jsonl") for problem in outcome.problems)
        assert len(stored(sqlite_store)) == before
    else:
        assert outcome.added + outcome.unchanged == len(records)
        assert len(stored(sqlite_store)) == before + outcome.added


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_the_bytes_are_there_is_a_clear_answer(tmp_path: Path, sqlite_store: Store, data: st.DataObject) -> None:
    """Good files with bytes cut, changed, put in or doubled."""
    kind = data.draw(st.sampled_from(["chat.jsonl", "list.json", "log.eval", "log.json"]))
    path = tmp_path / kind
    if kind == "log.eval":
        archive(path)
    else:
        value: Any = {"chat.jsonl": CHAT, "list.json": [SHAREGPT], "log.json": LOG}[kind]
        path.write_text(json.dumps(value, indent=None if kind == "chat.jsonl" else 1, ensure_ascii=False) + "\n", "utf-8")
    content = path.read_bytes()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 12))
        content = content[:place] + data.draw(st.binary(max_size=6) | st.just(content[:40])) + content[place + length :]
    path.write_bytes(content)
    before = len(stored(sqlite_store))
    outcome = outcome_of(sqlite_store, path, detect_format(path))
    if isinstance(outcome, InvalidInput):
        assert all(problem.place.startswith(kind) for problem in outcome.problems)
        assert len(stored(sqlite_store)) == before
