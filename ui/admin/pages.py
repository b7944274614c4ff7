"""The admin's application: its pages, and which handler answers which event."""

from __future__ import annotations

from html import escape
from typing import Any

import gradio as gr

from ui.admin import views
from ui.admin.baseline_handlers import BaselineHandlers
from ui.admin.handlers import MAX_NAME, AccountHandlers
from ui.services import Services
from ui.texts import Texts

__all__ = ["build"]

# preprocess: values reach the handlers as they were sent, and are checked there, whatever this session's components say.
_EVENT: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "concurrency_limit": None, "preprocess": False}


def build(services: Services, texts: Texts) -> gr.Blocks:
    """The application of one interface language."""
    demo: gr.Blocks
    with gr.Blocks(title=f"{texts('admin.title')} · Salesfloor", analytics_enabled=False, fill_width=True) as demo:
        _accounts_page(demo, AccountHandlers(services, texts), texts)
    with demo.route(texts("admin.baselines_title"), "/baselines"):
        _baselines_page(demo, BaselineHandlers(services, texts), texts)
    return demo


def _bare(element_id: str, html: str = "", **options: Any) -> gr.HTML:
    return gr.HTML(html, elem_id=element_id, elem_classes="sf-bare", apply_default_css=False, **options)


def _head(title: str, lead: str) -> str:
    return f"<div class='sf'><h1>{escape(title)}</h1><p class='lead'>{escape(lead)}</p></div>"


def _section(title: str, text: str = "") -> gr.HTML:
    small = f"<p class='small'>{escape(text)}</p>" if text else ""
    return gr.HTML(f"<div class='sf'><h2>{escape(title)}</h2>{small}</div>", elem_classes="sf-bare", apply_default_css=False)


def _accounts_page(demo: gr.Blocks, handlers: AccountHandlers, t: Texts) -> None:
    top = _bare("top")
    _bare("head", _head(t("admin.title"), t("admin.lead")))
    notice = _bare("notice")
    link = gr.HTML(elem_id="link", elem_classes="sf-panel", apply_default_css=False, visible=False)
    with gr.Row(equal_height=False):
        with gr.Column(scale=8, min_width=320):
            table = gr.HTML(elem_id="accounts", elem_classes="sf-panel", apply_default_css=False)
        with gr.Column(scale=4, min_width=300):
            with gr.Column(elem_classes="sf-form"):
                _section(t("admin.change_title"))
                chosen = gr.Dropdown([], label=t("admin.choose"), elem_id="chosen", value=None)
                held = gr.CheckboxGroup(views.role_choices(t), label=t("admin.roles"), elem_id="held-roles")
                with gr.Row(elem_classes="sf-pair"):
                    save = gr.Button(t("admin.save_roles"), elem_id="save-roles", size="md")
                    make_link = gr.Button(t("admin.make_link"), elem_id="make-link", size="md")
                with gr.Row(elem_classes="sf-pair"):
                    end_sessions = gr.Button(t("admin.end_sessions"), elem_id="end-sessions", size="md")
                    disable = gr.Button(t("admin.disable"), elem_id="disable", size="md", variant="stop")
                    enable = gr.Button(t("admin.enable"), elem_id="enable", size="md", visible=False)
            with gr.Column(elem_classes="sf-form"):
                _section(t("admin.add_title"))
                name = gr.Textbox(
                    label=t("admin.add_name"),
                    info=t("admin.add_name_help", maximum=MAX_NAME),
                    max_length=MAX_NAME,
                    elem_id="new-name",
                )
                roles = gr.CheckboxGroup(
                    views.role_choices(t), label=t("admin.roles"), info=t("admin.annotator_note"), elem_id="new-roles"
                )
                add = gr.Button(t("admin.add"), elem_id="add", variant="primary", size="md")
    shown = [notice, table, chosen, held, disable, enable, link, name, roles]
    once: dict[str, Any] = {"trigger_mode": "once", **_EVENT}
    demo.load(handlers.open_page, None, [top, *shown], **_EVENT)
    chosen.input(handlers.choose, chosen, shown, **_EVENT)
    gr.on([add.click, name.submit], handlers.add, [name, roles], shown, **once)
    save.click(handlers.save_roles, [chosen, held], shown, **once)
    make_link.click(handlers.make_link, chosen, shown, **once)
    end_sessions.click(handlers.end_sessions, chosen, shown, **once)
    disable.click(handlers.disable, chosen, shown, **once)
    enable.click(handlers.enable, chosen, shown, **once)


def _baselines_page(demo: gr.Blocks, handlers: BaselineHandlers, t: Texts) -> None:
    top = _bare("top")
    _bare("head", _head(t("admin.baselines_title"), t("admin.baselines_lead")))
    notice = _bare("notice")
    with gr.Row(equal_height=False):
        with gr.Column(scale=7, min_width=320):
            listing = gr.HTML(elem_id="collections", elem_classes="sf-panel", apply_default_css=False)
        with gr.Column(scale=4, min_width=300):
            with gr.Column(elem_classes="sf-form"):
                _section(t("admin.create_title"))
                name = gr.Textbox(label=t("admin.baseline_name"), elem_id="baseline-name", max_length=80)
                query = gr.Textbox(
                    label=t("admin.query"), info=t("admin.query_help"), placeholder="language:en tier:hard", elem_id="query",
                    max_length=500,
                )  # fmt: skip
                people = gr.CheckboxGroup([], label=t("admin.sellers"), info=t("admin.sellers_help"), elem_id="sellers")
                count = _bare("count")
                create = gr.Button(t("admin.create"), elem_id="create", variant="primary", size="md")
            with gr.Column(elem_classes="sf-form"):
                _section(t("admin.close_title"), t("admin.close_help"))
                which = gr.Dropdown([], label=t("admin.close_choose"), elem_id="which", value=None)
                sure = gr.Checkbox(label=t("admin.close_sure"), elem_id="sure")
                close = gr.Button(t("admin.close"), elem_id="close", variant="stop", size="md")
    shown = [notice, listing, people, which, name, query, sure, count]
    demo.load(handlers.open_page, None, [top, *shown], **_EVENT)
    gr.on([query.input, people.input], handlers.preview, [query, people], count, trigger_mode="always_last", **_EVENT)
    create.click(handlers.create, [name, query, people], shown, trigger_mode="once", **_EVENT)
    close.click(handlers.close, [which, sure], shown, trigger_mode="once", **_EVENT)
