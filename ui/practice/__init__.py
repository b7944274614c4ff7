"""The salesperson's pages: the board of scenarios, the briefing, the conversation, my sessions."""

from ui.practice.pages import build

__all__ = ["build"]
