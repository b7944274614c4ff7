"""The admin's pages: accounts and human baselines."""

from ui.admin.pages import build

__all__ = ["build"]
