"""Tables as files: CSV and Excel workbooks that survive a spreadsheet, and Parquet.

A CSV starts with a byte order mark, so that Excel reads Chinese. A text that a spreadsheet would take for a formula is written
with an apostrophe in front; :func:`read_csv` takes it away again. Missing values are empty cells.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pandas as pd

from core.errors import InvalidInput, Problem
from data.files import new_file

__all__ = ["TABLE_FORMATS", "escape", "read_csv", "unescape", "write_table"]

TABLE_FORMATS: Final = ("csv", "xlsx", "parquet")

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""What begins like a formula to a spreadsheet, or like one that was escaped before."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

EXCEL_ROWS: Final = 1_048_576
EXCEL_CELL: Final = 32_767
_MAX_FIELD = 32 * 1024 * 1024


def escape(text: str) -> str:
    """The text with an apostrophe in front, if a spreadsheet would take it for a formula."""
    return "'" + text if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unescape(text: str) -> str:
    """The inverse of :func:`escape`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def write_table(frame: pd.DataFrame, target: Path, table_format: str) -> None:
    """Write ``frame`` without its index. ``table_format`` is one of :data:`TABLE_FORMATS`.

    Raises InvalidInput for what an Excel workbook cannot hold, and StoreError if the file cannot be written.
    """
    if table_format == "xlsx":
        _check_excel(frame)
    with new_file(target) as partial:
        match table_format:
            case "csv":
                _escaped(frame).to_csv(
                    partial, index=False, encoding="utf-8-sig", lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL
                )
            case "xlsx":
                _write_workbook(frame, partial)
            case "parquet":
                frame.to_parquet(partial, index=False, engine="pyarrow")
            case _:
                raise ValueError(f"{table_format!r} is not one of {TABLE_FORMATS}")


def read_csv(path: Path, problems: list[Problem]) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a CSV with their places (``scores.csv:2``), keyed by the header; texts as they were before escaping.

    Takes UTF-8 with or without a byte order mark. Empty rows are passed over; rows with more or fewer cells than the header are
    told in ``problems``. Raises InvalidInput for a file that is no CSV: not UTF-8, without a header, or with a column twice.
    """
    csv.field_size_limit(_MAX_FIELD)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            header = [name.strip() for name in next(rows, [])]
            _check_header(path, header)
            for row in rows:
                place = f"{path.name}:{rows.line_num}"
                if not any(cell.strip() for cell in row):
                    continue
                if len(row) != len(header):
                    fault = f"{len(row)} cells, and the header has {len(header)}"
                    problems.append(Problem(place, fault, "write a cell for each column; quote texts that hold commas"))
                    continue
                yield place, {name: unescape(cell) for name, cell in zip(header, row, strict=True)}
    except UnicodeDecodeError as error:
        raise InvalidInput(Problem(path.name, f"byte {error.start + 1} is not UTF-8", "save it as CSV UTF-8")) from error
    except csv.Error as error:
        raise InvalidInput(Problem(f"{path.name}:{rows.line_num}", f"not CSV: {error}", "check its quotation marks")) from error
    except OSError as error:
        raise InvalidInput(Problem(str(path), f"cannot be read: {error.strerror}", "check the path")) from error


def _check_header(path: Path, header: list[str]) -> None:
    if not any(header):
        raise InvalidInput(Problem(path.name, "it is empty", "write a header and a row for each dialogue"))
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled:
        raise InvalidInput(Problem(f"{path.name}:1", f"column {doubled[0]!r} stands twice", "remove or rename one"))


def _texts(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame.columns if pd.api.types.is_string_dtype(frame[name]) or frame[name].dtype == object]


def _escaped(frame: pd.DataFrame) -> pd.DataFrame:
    changed = {name: frame[name].map(lambda value: escape(value) if isinstance(value, str) else value) for name in _texts(frame)}
    return frame.assign(**changed)


def _check_excel(frame: pd.DataFrame) -> None:
    mend = "use --format csv or parquet"
    if len(frame) >= EXCEL_ROWS:
        raise InvalidInput(Problem("--format xlsx", f"{len(frame):,} rows; a sheet holds {EXCEL_ROWS - 1:,}", mend))
    for name in _texts(frame):
        lengths = frame[name].map(lambda value: len(value) if isinstance(value, str) else 0).to_numpy()
        if len(lengths) and lengths.max() > EXCEL_CELL:
            where = f"row {lengths.argmax() + 1}: {name} has {lengths.max():,} characters"
            raise InvalidInput(Problem("--format xlsx", f"{where}; a cell holds {EXCEL_CELL:,}", mend))


def _write_workbook(frame: pd.DataFrame, path: Path) -> None:
    """Row by row, so that a long table needs little memory, and with every text marked as text: none becomes a formula."""
    # Loaded here: it is slow to load, and most commands never write a workbook.
    from openpyxl import Workbook  # noqa: PLC0415
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE  # noqa: PLC0415

    book = Workbook(write_only=True)
    sheet = book.create_sheet("salesfloor")
    sheet.freeze_panes = "A2"

    def cell(value: Any) -> Any:
        if isinstance(value, str):
            made = WriteOnlyCell(sheet, value=ILLEGAL_CHARACTERS_RE.sub("\ufffd", value))
            made.data_type = "s"
            return made
        if isinstance(value, datetime):  # A workbook knows no time zones.
            return value.isoformat()
        return None if pd.isna(value) else value

    sheet.append([cell(str(name)) for name in frame.columns])
    for row in frame.itertuples(index=False, name=None):
        sheet.append([cell(value) for value in row])
    book.save(path)
