"""Components of our own: ``gr.HTML`` with a script that draws in the browser. All text goes through ``textContent``."""

from ui.components._stubs import no_stub_files

with no_stub_files():
    from ui.components._base import DrawnComponent
    from ui.components.chat_pane import ChatPane
    from ui.components.navigator import Navigator
    from ui.components.scenario_board import ScenarioBoard

__all__ = ["ChatPane", "DrawnComponent", "Navigator", "ScenarioBoard"]
