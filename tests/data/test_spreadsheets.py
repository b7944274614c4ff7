"""Tables that go through a spreadsheet and come back unchanged."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from core.errors import InvalidInput, StoreError
from data import spreadsheets
from data.spreadsheets import TABLE_FORMATS, escape, read_csv, unescape, write_table
from tests.support.store_factory import characters

FORMULAE = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''@x", '=HYPERLINK("http://x")']


@given(st.text(characters) | st.sampled_from(FORMULAE))
def test_escaping_and_back(text: str) -> None:
    assert unescape(escape(text)) == text
    assert escape(text)[:1] not in tuple("=@\t\r")


@pytest.mark.parametrize("text", FORMULAE)
def test_no_formula_survives(text: str) -> None:
    assert escape(text).startswith("'")


@pytest.mark.parametrize("text", ["-5", "+3.2", "-1e5", "a=b", "存款", ""])
def test_numbers_and_plain_words_stay(text: str) -> None:
    assert escape(text) == text


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(characters, min_size=1).filter(lambda text: text.strip() and "\x00" not in text), min_size=1, max_size=5))
def test_csv_round_trip(tmp_path: Path, texts: list[str]) -> None:
    target = tmp_path / "out.csv"
    write_table(pd.DataFrame({"text": texts, "n": range(len(texts))}), target, "csv")
    assert target.read_bytes().startswith(b"\xef\xbb\xbf")
    problems: list[object] = []
    assert [row["text"] for _, row in read_csv(target, problems)] == texts  # type: ignore[arg-type]
    assert not problems


def test_a_workbook_holds_texts_as_texts(tmp_path: Path) -> None:
    target = tmp_path / "out.xlsx"
    frame = pd.DataFrame(
        {
            "text": [*FORMULAE, "存款\x07", None],
            "n": [*range(len(FORMULAE)), 1.5, None],
            "at": [datetime(2026, 1, 1, tzinfo=UTC)] * (len(FORMULAE) + 2),
        }
    )
    write_table(frame, target, "xlsx")
    sheet = load_workbook(target).active
    assert sheet is not None
    rows = list(sheet.iter_rows(min_row=2))
    assert all(row[0].data_type == "s" for row in rows[:-1])
    assert [row[0].value for row in rows[: len(FORMULAE)]] == [text.replace("\r", "\n") for text in FORMULAE]
    assert rows[-2][0].value == "存款\ufffd"
    assert rows[-1][0].value is None
    assert rows[-1][1].value is None
    assert rows[0][2].value == "2026-01-01T00:00:00+00:00"


def test_parquet_keeps_types(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": pd.array([1, None], "Int64"), "text": pd.array(["=1", None], "string")})
    write_table(frame, tmp_path / "out.parquet", "parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet"), frame)


def test_what_excel_cannot_hold_is_said_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="row 2: text has 40,000 characters; a cell holds 32,767; use --format csv or parquet"):
        write_table(pd.DataFrame({"text": ["a", "b" * 40_000]}), tmp_path / "out.xlsx", "xlsx")
    monkeypatch.setattr(spreadsheets, "EXCEL_ROWS", 3)
    with pytest.raises(InvalidInput, match="3 rows; a sheet holds 2"):
        write_table(pd.DataFrame({"text": ["a", "b", "c"]}), tmp_path / "out.xlsx", "xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("table_format", TABLE_FORMATS)
def test_a_folder_that_is_not_there(tmp_path: Path, table_format: str) -> None:
    with pytest.raises(StoreError, match="cannot be written: No such file or directory; name another file with -o"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "none" / "out", table_format)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "in.csv: it is empty"),
        (b"a,a\n1,2\n", "in.csv:1: column 'a' stands twice"),
        ("名字\n1".encode("gb18030"), "in.csv: byte 1 is not UTF-8; save it as CSV UTF-8"),
        (b'a,b\n"x,2\n', "in.csv:2: not CSV: unexpected end of data"),
    ],
)
def test_what_is_no_csv(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        list(read_csv(path, []))


def test_rows_of_another_length_are_all_told(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a,b\n1\n1,2\n\n1,2,3\n", "utf-8")
    problems: list[object] = []
    assert [place for place, _ in read_csv(path, problems)] == ["in.csv:3"]  # type: ignore[arg-type]
    assert [str(problem) for problem in problems] == [
        "in.csv:2: 1 cells, and the header has 2; write a cell for each column; quote texts that hold commas",
        "in.csv:5: 3 cells, and the header has 2; write a cell for each column; quote texts that hold commas",
    ]
