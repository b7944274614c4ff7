"""What several commands share: the option ``--store``, opening the store, the server's address.

The model clients and Gradio take seconds to import. The commands that need them import them when they run, so that the others
start at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from core.settings import Settings, load_settings
from data.opening import open_store
from data.store import Store
from ui.cli._output import note

__all__ = ["EMBEDDED", "StoreOption", "opened_store", "server_address"]

EMBEDDED = "embedded"
"""Name of the customer and of the scorers that come with the program."""

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Where everything is kept: sqlite:///path/to/file.sqlite or postgresql+psycopg://…"
        " Default: SALESFLOOR_STORE, the configuration file, or a SQLite file in the user's data folder.",
        show_default=False,
    ),
]


@contextmanager
def opened_store(store: str | None) -> Iterator[Store]:
    """The store that the option or the settings name, up to date and with the scenario library in it."""
    with open_store(load_settings(store=store).store_url, tell=note) as opened:
        yield opened


def server_address(settings: Settings) -> str:
    """The address under which this machine reaches the server, without a slash at its end."""
    host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
