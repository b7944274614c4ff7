"""What the drawn components share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

__all__ = ["DrawnComponent"]

_FOLDER = Path(__file__).parent


class DrawnComponent(gr.HTML):
    """A component drawn by ``<name>.js`` beside this module, styled by ``<name>.css``.

    The value is a JSON object in both directions; the template holds no placeholder, so that no text is ever run or parsed as
    markup. The script finds its root as ``element.firstElementChild``.
    """

    name_of_files = ""

    def __init__(self, value: dict[str, Any] | None = None, **options: Any) -> None:
        name = self.name_of_files
        super().__init__(
            value=value,
            html_template=f"<div class='sf sf-{name.replace('_', '-')}'><div class='sf-skeleton'></div></div>",
            css_template=(_FOLDER / f"{name}.css").read_text(encoding="utf-8"),
            js_on_load=(_FOLDER / f"{name}.js").read_text(encoding="utf-8"),
            apply_default_css=False,
            **options,
        )

    def get_block_name(self) -> str:
        """Gradio's front end draws it as the HTML component that it is."""
        return "html"

    def api_info(self) -> dict[str, Any]:
        return {"type": "object"}
