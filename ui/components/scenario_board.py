"""The board of scenarios: filters, search, and one card for each sale."""

from __future__ import annotations

from ui.components._base import DrawnComponent

__all__ = ["ScenarioBoard"]


class ScenarioBoard(DrawnComponent):
    """Draws :func:`ui.practice.views.board_value`. It filters in the browser, keeps the filters in the address, and links to the
    briefing of each sale; it raises no events.
    """

    name_of_files = "scenario_board"
