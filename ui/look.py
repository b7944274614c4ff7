"""The look of Gradio's pages: theme, style sheet, and the script that runs before Gradio's own."""

from __future__ import annotations

import gradio as gr

from core.scenarios import Language

__all__ = ["HTML_LANGUAGE", "STYLE_SHEETS", "head", "theme"]

_FONT = [
    "system-ui", "-apple-system", "Segoe UI", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans", "sans-serif",
]  # fmt: skip

STYLE_SHEETS = ("salesfloor", "shell")
"""Names of the files in ``ui/static``, in the order in which they are linked."""

HTML_LANGUAGE = {Language.EN: "en", Language.ZH: "zh-CN"}


def theme() -> gr.themes.Base:
    """System fonts only: a theme font would be fetched from another host."""
    return gr.themes.Base(
        primary_hue="teal", neutral_hue="slate", radius_size="md", font=_FONT, font_mono=["ui-monospace", "monospace"]
    ).set(
        body_background_fill="#f6f7f9",
        body_background_fill_dark="#0f1419",
        block_background_fill="#ffffff",
        block_background_fill_dark="#182029",
        block_border_width="1px",
        block_border_color="#dfe4ec",
        block_border_color_dark="#2b3644",
        block_shadow="none",
        block_label_background_fill="transparent",
        block_label_border_width="0px",
        button_primary_background_fill="#0f766e",
        button_primary_background_fill_hover="#115e59",
        button_primary_text_color="#ffffff",
        button_primary_background_fill_dark="#0d9488",
        input_background_fill="#ffffff",
        input_background_fill_dark="#121821",
    )


def head(language: Language) -> str:
    """The style sheets, and a script that runs before Gradio's bundle.

    Gradio asks the browser for its language and for light or dark; a choice made in the top bar answers in the browser's stead.
    The style sheets are linked, not handed to Gradio, which would rewrite their selectors.
    """
    links = "".join(f'<link rel="stylesheet" href="/static/{name}.css">' for name in STYLE_SHEETS)
    return f"{links}<script>{_SCRIPT % {'code': HTML_LANGUAGE[language]}}</script>"


_SCRIPT = """(() => {
  document.documentElement.lang = "%(code)s";
  Object.defineProperty(navigator, "language", { get: () => "%(code)s" });
  Object.defineProperty(navigator, "languages", { get: () => ["%(code)s"] });
  let chosen = null;
  try { chosen = localStorage.getItem("sf_theme"); } catch (_) {}
  if (chosen) {
    const ask = window.matchMedia.bind(window);
    const nothing = () => {};
    window.matchMedia = query => !query.includes("prefers-color-scheme") ? ask(query) : {
      matches: query.includes(chosen), media: query, onchange: null, dispatchEvent: () => false,
      addEventListener: nothing, removeEventListener: nothing, addListener: nothing, removeListener: nothing,
    };
  }
  // Gradio may have chosen before this runs.
  if (chosen && document.body) document.body.classList.toggle("dark", chosen === "dark");
  window.sfTheme = () => {
    const dark = document.body.classList.contains("dark");
    try { localStorage.setItem("sf_theme", dark ? "light" : "dark"); } catch (_) {}
    location.reload();
  };
})();"""
