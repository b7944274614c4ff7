"""Tables of turns and scores, and scores that come in as a table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from core.dialogues import Participant
from core.errors import InvalidInput
from core.scoring import Dimension, Intent, Scorecard
from data.dialogues import DialogueRepository
from data.exports import export_dialogues, export_scores
from data.frames import SCORE_COLUMNS, TURN_COLUMNS, scores_frame, turns_frame
from data.score_imports import import_scores
from data.scores import ScoreRepository
from data.store import Store
from tests.support.store_factory import a_card, buyer, new_dialogue, seller

HEADER = (
    "dialogue_id,model,tier,language,propensity,s_buy,s_sell,"
    "verbal_commitment,next_step,information_elicitation,objection_resolution"
)


@pytest.fixture
def sold(sqlite_store: Store) -> str:
    with sqlite_store.session() as session:
        dialogues = DialogueRepository(session)
        dialogue = dialogues.add(new_dialogue(salesperson=Participant(kind="model", name="m-1")))
        dialogues.append(dialogue.id, seller("=您最看重什么？"), 0)
        dialogues.append(dialogue.id, buyer("随时能取出来。"), 1)
    return dialogue.id


def cards(store: Store, dialogue_id: str) -> tuple[Scorecard, ...]:
    with store.reading() as session:
        return ScoreRepository(session).history(dialogue_id)


def take_in(store: Store, folder: Path, *rows: str, header: str = HEADER) -> str:
    path = folder / "in.csv"
    path.write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return str(import_scores(store, path))


# -- out --------------------------------------------------------------------------------------------------------------


def test_empty_tables_have_all_columns_and_types(sqlite_store: Store) -> None:
    with sqlite_store.reading() as session:
        assert {name: str(kind) for name, kind in turns_frame(session).dtypes.items()} == TURN_COLUMNS
        assert {name: str(kind) for name, kind in scores_frame(session).dtypes.items()} == SCORE_COLUMNS


@pytest.mark.parametrize("file_format", ["csv", "xlsx", "parquet"])
def test_turns_as_a_table(sqlite_store: Store, sold: str, tmp_path: Path, file_format: str) -> None:
    target = tmp_path / f"out.{file_format}"
    assert export_dialogues(sqlite_store, target, file_format=file_format) == 1
    frame = {"csv": pd.read_csv, "xlsx": pd.read_excel, "parquet": pd.read_parquet}[file_format](target)
    assert list(frame.columns) == list(TURN_COLUMNS)
    assert list(frame["role"]) == ["salesperson", "customer"]
    assert list(frame["turn"]) == [1, 2]
    assert frame["text"][1] == "随时能取出来。"
    assert frame["text"][0].lstrip("'") == "=您最看重什么？"


def test_scores_as_a_table(sqlite_store: Store, sold: str, tmp_path: Path) -> None:
    with sqlite_store.session() as session:
        ScoreRepository(session).add(sold, a_card())
        ScoreRepository(session).add(sold, a_card(intent=Intent.A))
    assert export_scores(sqlite_store, tmp_path / "out.csv") == 1
    (row,) = pd.read_csv(tmp_path / "out.csv").to_dict("records")
    assert (row["dialogue_id"], row["model"], row["tier"], row["language"]) == (sold, "m-1", "hard", "en")
    assert (row["s_buy"], row["s_sell"], row["verbal_commitment"]) == (10, 6, 6)
    assert pd.isna(row["objection_resolution"])
    assert row["final"] == 8


def test_dialogues_without_scores_are_left_out(sqlite_store: Store, sold: str, tmp_path: Path) -> None:
    assert export_scores(sqlite_store, tmp_path / "out.csv") == 0


# -- in ---------------------------------------------------------------------------------------------------------------


def test_scores_come_in_once(sqlite_store: Store, sold: str, tmp_path: Path) -> None:
    row = f"{sold},m-1,hard,en,0.2,8,,6,4.5,8,"
    assert take_in(sqlite_store, tmp_path, row) == "in.csv: 1 score added"
    assert take_in(sqlite_store, tmp_path, row) == "in.csv: nothing new; its one score is in the store already"
    (card,) = cards(sqlite_store, sold)
    assert (card.scorer, card.intent) == ("imported", Intent.B)
    assert {score.dimension: score.value for score in card.dimensions} == {
        Dimension.VERBAL_COMMITMENT: 6,
        Dimension.NEXT_STEP: 4.5,
        Dimension.INFORMATION_ELICITATION: 8,
        Dimension.OBJECTION_RESOLUTION: None,
    }


def test_what_is_exported_can_be_imported(sqlite_store: Store, sold: str, tmp_path: Path) -> None:
    with sqlite_store.session() as session:
        ScoreRepository(session).add(sold, a_card())
    export_scores(sqlite_store, tmp_path / "first.csv")
    import_scores(sqlite_store, tmp_path / "first.csv", scorer="again")
    again = cards(sqlite_store, sold)[-1]
    assert (again.s_buy, again.s_sell) == (a_card().s_buy, a_card().s_sell)


def test_selling_performance_alone_is_kept(sqlite_store: Store, sold: str, tmp_path: Path) -> None:
    take_in(sqlite_store, tmp_path, f"{sold},m-1,6,7.25", header="dialogue_id,model,s_buy,s_sell")
    (card,) = cards(sqlite_store, sold)
    assert (card.s_sell, card.final()) == (7.25, 6.625)
    with sqlite_store.reading() as session:
        assert list(scores_frame(session)["final"]) == [6.625]


def test_every_bad_row_is_shown_and_nothing_changes(sqlite_store: Store, sold: str, tmp_path: Path) -> None:
    rows = [
        f"{sold},m-2,easy,zh,0.3,7,,11,x,nan,",
        "d-none,m-1,,,,8,,,,,",
        f"{sold},m-1,,,,8,,,,,",
        "short",
    ]
    with pytest.raises(InvalidInput) as refused:
        take_in(sqlite_store, tmp_path, *rows)
    assert [str(problem) for problem in refused.value.problems] == [
        "in.csv:2: model: 'm-2', and the store says 'm-1'; mend the row, or leave the cell empty",
        "in.csv:2: tier: 'easy', and the store says 'hard'; mend the row, or leave the cell empty",
        "in.csv:2: language: 'zh', and the store says 'en'; mend the row, or leave the cell empty",
        "in.csv:2: propensity: '0.3', and the store says 0.2; mend the row, or leave the cell empty",
        "in.csv:2: verbal_commitment: 11 is outside 0 to 10; mend it",
        "in.csv:2: next_step: 'x' is not a number; write a number, or leave the cell empty",
        "in.csv:2: information_elicitation: nan is outside 0 to 10; mend it",
        "in.csv:2: s_buy: 7 is no class of intent; use 2, 4, 6, 8 or 10",
        "in.csv:3: the store has no dialogue 'd-none'; import the dialogues first",
        f"in.csv:4: dialogue {sold!r} was scored at in.csv:2; remove one",
        "in.csv:5: 1 cells, and the header has 11; write a cell for each column; quote texts that hold commas",
    ]
    assert cards(sqlite_store, sold) == ()


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("dialogue_id,s_buy", "{},8", "in.csv:1: column 'model' is missing; add it"),
        ("dialogue_id,model", "{},m-1", "in.csv:2: it holds no score"),
        ("dialogue_id,model", "", "in.csv: it holds no scores"),
        ("dialogue_id,model,s_sell,next_step", "{},m-1,9,4", "in.csv:2: s_sell: 9, and the mean of the sub-dimensions is 4.00"),
    ],
)
def test_files_that_are_no_scores(sqlite_store: Store, sold: str, tmp_path: Path, header: str, row: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        take_in(sqlite_store, tmp_path, row.format(sold), header=header)
