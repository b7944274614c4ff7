"""The practice application: its pages, and which handler answers which event."""

from __future__ import annotations

from typing import Any

import gradio as gr

from ui.components import ChatPane, Navigator, ScenarioBoard
from ui.practice.handlers import PracticeHandlers
from ui.services import Services
from ui.texts import Texts

__all__ = ["build"]

# Every event: not in the public API, no spinner over our own components, any number at once. "multiple", not "once": after a
# lost connection Gradio would wait for the lost event for ever. What must not happen twice is harmless twice on the server.
_EVENT: dict[str, Any] = {
    "api_visibility": "private",
    "show_progress": "hidden",
    "concurrency_limit": None,
    "trigger_mode": "multiple",
}


def build(services: Services, texts: Texts) -> gr.Blocks:
    """The application of one interface language."""
    handlers = PracticeHandlers(services, texts)
    demo: gr.Blocks
    with gr.Blocks(title=f"Salesfloor · {texts('board.title')}", analytics_enabled=False, fill_width=True) as demo:
        _board_page(demo, handlers)
    with demo.route(texts("brief.title"), "/brief"):
        _brief_page(demo, handlers, texts)
    with demo.route(texts("talk.log"), "/talk"):
        _talk_page(demo, handlers)
    with demo.route(texts("sessions.title"), "/sessions"):
        _sessions_page(demo, handlers)
    return demo


def _bare(element_id: str) -> gr.HTML:
    return gr.HTML(elem_id=element_id, elem_classes="sf-bare", apply_default_css=False)


def _board_page(demo: gr.Blocks, handlers: PracticeHandlers) -> None:
    top = _bare("top")
    gr.HTML(handlers.board_head, elem_classes="sf-bare", apply_default_css=False)
    board = ScenarioBoard(elem_id="board", elem_classes="sf-bare")
    demo.load(handlers.board, None, [top, board], **_EVENT)


def _brief_page(demo: gr.Blocks, handlers: PracticeHandlers, texts: Texts) -> None:
    top = _bare("top")
    navigator = Navigator(elem_classes="sf-away")
    with gr.Row(equal_height=False):
        with gr.Column(scale=7, min_width=340):
            script = gr.HTML(elem_id="script", elem_classes="sf-panel", apply_default_css=False)
        with gr.Column(scale=4, min_width=300):
            rules = gr.HTML(elem_id="rules", elem_classes="sf-panel", apply_default_css=False)
            start = gr.Button(texts("brief.start"), elem_id="start", variant="primary", size="lg")
            gr.HTML(f"<p class='small'>{texts('brief.start_help')}</p>", elem_classes="sf-bare sf", apply_default_css=False)
    demo.load(handlers.brief, None, [top, script, rules, navigator], **_EVENT)
    start.click(handlers.start, None, navigator, **{**_EVENT, "trigger_mode": "once"})


def _talk_page(demo: gr.Blocks, handlers: PracticeHandlers) -> None:
    top = _bare("top")
    navigator = Navigator(elem_classes="sf-away")
    with gr.Row(equal_height=False):
        with gr.Column(scale=7, min_width=340):
            chat = ChatPane(elem_id="chat", elem_classes="sf-bare")
        with gr.Column(scale=4, min_width=320):
            side = gr.HTML(elem_id="side", elem_classes=["sf-panel", "sf-side"], apply_default_css=False)
    demo.load(handlers.open_talk, None, [top, chat, side, navigator], **_EVENT)
    shown = [chat, side]
    chat.submit(handlers.send, chat, shown, **_EVENT)
    chat.retry(handlers.retry, chat, shown, **_EVENT)
    chat.stop(handlers.finish, chat, shown, **_EVENT)
    chat.tick(handlers.sync, chat, shown, **_EVENT)
    chat.expand(handlers.hint, chat, chat, **_EVENT)
    chat.select(handlers.branch, chat, [chat, navigator], **_EVENT)


def _sessions_page(demo: gr.Blocks, handlers: PracticeHandlers) -> None:
    top = _bare("top")
    listing = gr.HTML(elem_id="listing", elem_classes="sf-panel", apply_default_css=False)
    demo.load(handlers.sessions, None, [top, listing], **_EVENT)
