"""Jinja2 templates to HTML. Everything is escaped; a missing variable is an error."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2

__all__ = ["render"]


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, /, **context: Any) -> str:
    """Render ``ui/templates/<template>``. Raises jinja2.UndefinedError for a variable that the caller forgot."""
    return _environment().get_template(template).render(**context)
