"""Sends the browser to another page of ours."""

from __future__ import annotations

from ui.components._base import DrawnComponent

__all__ = ["Navigator"]


class Navigator(DrawnComponent):
    """Its value ``{"to": "talk?d=…"}`` makes the browser go there. It draws nothing, and follows only relative addresses."""

    name_of_files = "navigator"
