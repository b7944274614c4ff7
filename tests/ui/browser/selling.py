"""What a salesperson does on the pages, for the tests beside this module."""

from __future__ import annotations

from playwright.sync_api import Page, expect

__all__ = ["SALES", "finish", "open_sale", "say", "start_sale", "turns"]

SALES = {
    "en": (
        "fin-deposit-01",
        [
            "Hello, thank you for your time. What would you like your savings to do for you?",
            "I understand. Roughly how much would you like to put aside?",
            "The deposit pays 3.60% a year, fixed for the whole 24 months, and there are no fees for opening or closing it.",
            "Up to 20% can be taken out once with no fee after six months, and it is covered by federal deposit insurance.",
            "Shall we open it together in the app on Thursday at four? I can call you then.",
            "So, would you like to go ahead with it?",
        ],
    ),
    "zh": (
        "con-fridge-06",
        [
            "您好，谢谢您过来。您想要一台什么样的冰箱？",
            "明白，您的预算大概是多少？",
            "我们会先上门量尺寸、出图，尺寸合不合适一目了然。",
            "您家里是您一个人决定，还是要和家人商量？",
            "那我约师傅周六上午上门量尺寸，可以吗？",
            "那今天就定下来，您看可以吗？",
        ],
    ),
}
"""For each language a sale, and what a considerate salesperson says in it."""


def open_sale(page: Page, base: str, language: str, tier: str) -> None:
    """From the board to the briefing, by the search box and the card's link."""
    page.wait_for_selector("#board .card")
    card = page.locator(f"#board .card:has(a[href*='base={base}&'][href*='language={language}'])")
    card.locator(f"a.tier.{tier}").click()
    page.wait_for_selector("#script h1")


def start_sale(page: Page, base: str = "fin-deposit-01", language: str = "en", tier: str = "easy") -> None:
    """From the board to an open conversation that waits for the salesperson."""
    open_sale(page, base, language, tier)
    page.click("#start")
    page.wait_for_url("**/talk?d=*")
    page.wait_for_selector(".phase.salesperson", timeout=30_000)


def say(page: Page, text: str, *, wait: bool = True) -> None:
    """Write and send with Enter; waits for the customer's whole reply, or for the end."""
    page.fill("#message", text)
    page.press("#message", "Enter")
    page.locator(".turn.salesperson .bubble", has_text=text).first.wait_for()
    if wait:
        page.wait_for_selector(".phase.salesperson, .phase.over", timeout=30_000)


def finish(page: Page) -> None:
    """End the sale, unless the customer has."""
    if page.locator("#finish").is_visible():
        page.click("#finish")
        page.click("#finish-yes")
    expect(page.locator("#scorecard, #not-scored, #next-sale").first).to_be_visible()


def turns(page: Page) -> list[str]:
    """The texts on the page, in order."""
    return page.locator("ol.turns .bubble").all_inner_texts()
