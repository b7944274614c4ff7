from __future__ import annotations

import json
from pathlib import Path

import pytest

from data.dialogues import DialogueRepository
from data.scores import ScoreRepository
from data.store import Store
from tests.support.store_factory import a_card, buyer, new_dialogue, seller
from tests.ui.cli.conftest import Cli, Spawn


@pytest.fixture
def sold(store: Store) -> str:
    """A dialogue in the store, with a turn of each side and a score; returns its id."""
    with store.session() as session:
        dialogues = DialogueRepository(session)
        dialogue = dialogues.add(new_dialogue())
        dialogues.append(dialogue.id, seller("您最看重什么？"), 0)
        dialogues.append(dialogue.id, buyer("随时能取出来。"), 1)
        ScoreRepository(session).add(dialogue.id, a_card())
    return dialogue.id


def test_round_trip_gives_the_same_bytes(sold: str, tmp_path: Path, cli: Cli) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    written = cli("export", "dialogues", "-o", str(first))
    assert (written.status, written.out) == (0, "")
    assert written.complaints == [f"{first}: 1 dialogue"]
    assert json.loads(first.read_text(encoding="utf-8"))["id"] == sold
    other = f"sqlite:///{tmp_path / 'other.sqlite'}"
    brought = cli("import", "dialogues", str(first), "--store", other, on_store=False)
    assert brought.status == 0
    assert brought.out.startswith("first.jsonl: 1 ")
    assert cli("export", "dialogues", "--all", "-o", str(second), "--store", other, on_store=False).status == 0
    assert first.read_bytes() == second.read_bytes()
    again = cli("import", "dialogues", str(first), "--format", "salesfloor", "--store", other, on_store=False)
    assert again.out.startswith("first.jsonl: nothing new")


def test_export_to_standard_output(sold: str, cli: Cli, tmp_path: Path, url: str, spawn: Spawn) -> None:
    file = tmp_path / "dialogues.jsonl"
    cli("export", "dialogues", "-o", str(file))
    done = spawn("export", "dialogues", "-o", "-", "--store", url, env={"LC_ALL": "C"})
    assert done.returncode == 0
    assert done.stdout == file.read_bytes()
    assert done.stderr == b""


def test_formats_that_do_not_exist_say_which_do(tmp_path: Path, cli: Cli) -> None:
    refused = cli("import", "dialogues", str(tmp_path / "x.jsonl"), "--format", "nonsense")
    assert (refused.status, len(refused.complaints)) == (2, 1)
    assert "auto, salesfloor, openai, sharegpt, inspect" in refused.err
    refused = cli("export", "dialogues", "-o", str(tmp_path / "x"), "--format", "nonsense")
    assert (refused.status, len(refused.complaints)) == (2, 1)
    assert "jsonl, csv, xlsx, parquet" in refused.err


def test_chats_of_other_programs(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "chats.jsonl"
    turns = [{"role": "user", "content": "Good morning!"}, {"role": "assistant", "content": "What does it cost?"}]
    file.write_text(json.dumps({"messages": turns}) + "\n", encoding="utf-8")
    brought = cli("import", "dialogues", str(file), "--salesperson-role", "user", "--model", "m-1")
    assert brought.lines == ["chats.jsonl: 1 dialogue added"]
    cli("export", "dialogues", "-o", str(tmp_path / "out.jsonl"))
    record = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    assert record["salesperson"] == {"kind": "model", "name": "m-1"}
    assert [turn["role"] for turn in record["turns"]] == ["salesperson", "customer"]


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_tables_by_the_ending_of_their_name(sold: str, tmp_path: Path, cli: Cli, ending: str) -> None:
    for what, remark in (("dialogues", "1 dialogue"), ("scores", "scores of 1 dialogue")):
        target = tmp_path / f"{what}.{ending}"
        written = cli("export", what, "-o", str(target))
        assert (written.status, written.complaints) == (0, [f"{target}: {remark}"])
        assert target.read_bytes()[:4] in {"csv": (b"\xef\xbb\xbfd",), "xlsx": (b"PK\x03\x04",), "parquet": (b"PAR1",)}[ending]


def test_only_lines_go_to_standard_output(cli: Cli) -> None:
    refused = cli("export", "dialogues", "-o", "-", "--format", "csv")
    assert (refused.status, len(refused.complaints)) == (2, 1)


def test_scores_come_in_from_a_table(sold: str, tmp_path: Path, cli: Cli, store: Store) -> None:
    cli("export", "scores", "-o", str(tmp_path / "scores.csv"))
    brought = cli("import", "scores", str(tmp_path / "scores.csv"), "--scorer", "mine")
    assert brought.lines == ["scores.csv: 1 score added"]
    with store.reading() as session:
        assert ScoreRepository(session).history(sold)[-1].scorer == "mine"


def test_a_run_that_is_not_there_is_named(tmp_path: Path, cli: Cli) -> None:
    refused = cli("export", "dialogues", "--run", "first", "-o", str(tmp_path / "x.jsonl"))
    assert refused.status == 1
    assert refused.complaints == ["salesfloor: no run 'first'"]
    assert not (tmp_path / "x.jsonl").exists()


def test_a_run_and_all_is_wrong_usage(tmp_path: Path, cli: Cli) -> None:
    assert cli("export", "dialogues", "--run", "first", "--all", "-o", str(tmp_path / "x.jsonl")).status == 2


@pytest.mark.parametrize("target", ["gone/x.jsonl", "."])
def test_a_target_that_cannot_be_written_is_named(target: str, sold: str, tmp_path: Path, cli: Cli) -> None:
    refused = cli("export", "dialogues", "-o", str(tmp_path / target))
    assert (refused.status, len(refused.complaints)) == (1, 1)
    assert str(tmp_path) in refused.err


def test_every_bad_line_is_named_and_nothing_comes_in(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "mixed.jsonl"
    good = {"id": "d-1", "language": "en", "goal": "Sell it", "turns": [{"role": "customer", "text": "Hello", "session": 1}]}
    lines = [json.dumps(good), "{broken", json.dumps({**good, "id": "d-2", "language": "fr"}), ""]
    file.write_bytes("\n".join(lines).encode() + b'{"id": "caf\xe9"}\n')
    refused = cli("import", "dialogues", str(file))
    assert (refused.status, refused.out) == (1, "")
    assert [line.split()[1] for line in refused.complaints] == ["mixed.jsonl:2:", "mixed.jsonl:3:", "mixed.jsonl:4:"]
    assert "language" in refused.complaints[1]
    assert "UTF-8" in refused.complaints[2]
    assert cli("export", "dialogues", "-o", "-").out == ""


@pytest.mark.parametrize("name", ["gone.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path, cli: Cli) -> None:
    refused = cli("import", "dialogues", str(tmp_path / name))
    assert (refused.status, len(refused.complaints)) == (1, 1)
    assert str(tmp_path) in refused.err
