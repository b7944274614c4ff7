"""A whole sale in the browser, and everything that may come in between."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.product import Product
from tests.ui.browser.selling import SALES, finish, open_sale, say, start_sale, turns

Visit = Callable[..., Page]


@pytest.mark.parametrize("tier", ["easy", "hard"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_whole_sale(visit: Visit, language: str, tier: str) -> None:
    base, lines = SALES[language]
    page = visit("sam", language=language)
    assert ("/zh/practice/" in page.url) == (language == "zh")
    open_sale(page, base, language, tier)
    expect(page.locator("#rules")).to_contain_text({"en": "Verbal commitment", "zh": "口头承诺"}[language])
    page.click("#start")
    page.wait_for_selector(".phase.salesperson", timeout=30_000)
    for line in lines:
        if not page.locator("#message").is_visible():
            break
        say(page, line)
    finish(page)
    card = page.locator("#scorecard")
    final = float(card.locator(".figure.main b").inner_text())
    assert 1.0 <= final <= 10.0
    said_by_customer = " ".join(page.locator("ol.turns .customer .bubble").all_inner_texts())
    quotes = page.locator(".outcome blockquote").all_inner_texts()
    assert quotes
    assert all(quote in said_by_customer for quote in quotes), "evidence must be the customer's own words"
    page.click("#reveal summary")
    expect(page.locator("#reveal")).to_contain_text({"en": "Decision factors", "zh": "决策因素"}[language])


def test_the_reply_streams_in(visit: Visit) -> None:
    page = visit()
    start_sale(page)
    say(page, "Hello, how are things with your savings today?", wait=False)
    page.wait_for_selector(".partial .bubble:not(.dots)")
    expect(page.locator("#send")).to_be_disabled()
    page.wait_for_selector(".phase.salesperson")
    expect(page.locator(".partial")).to_be_hidden()


def test_a_refresh_in_the_middle_of_a_reply(visit: Visit) -> None:
    page = visit()
    start_sale(page)
    say(page, "Hello, what brings you to us?", wait=False)
    page.reload()
    page.wait_for_selector(".phase.salesperson", timeout=30_000)
    shown = turns(page)
    assert shown[0] == "Hello, what brings you to us?"
    assert len(shown) == 2
    page.reload()
    page.wait_for_selector(".phase.salesperson")
    assert turns(page) == shown


def test_two_tabs_see_the_same_and_cannot_both_send(visit: Visit) -> None:
    page = visit()
    start_sale(page)
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("#message")
    page.fill("#message", "Hello from the first tab, how are you?")
    other.fill("#message", "Hello from the second tab, how are you?")
    page.press("#message", "Enter")
    other.press("#message", "Enter")
    for tab in (page, other):
        tab.wait_for_selector(".phase.salesperson", timeout=30_000)
    page.reload()
    page.wait_for_selector(".phase.salesperson")
    mine = [text for text in turns(page) if text.startswith("Hello from")]
    assert len(mine) == 1
    # The tab that lost keeps its text in the box.
    left = [tab.input_value("#message") for tab in (page, other)]
    assert sum(text.startswith("Hello from") for text in left) >= 1


def test_double_enter_and_double_click_send_once(visit: Visit) -> None:
    page = visit()
    start_sale(page)
    page.fill("#message", "Hello twice")
    page.evaluate(
        "() => { const box = document.querySelector('#message'), send = document.querySelector('#send');"
        " const enter = () => box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true}));"
        " enter(); enter(); send.click(); send.click(); }"
    )
    page.wait_for_selector(".phase.salesperson")
    assert turns(page).count("Hello twice") == 1


def test_enter_of_an_input_method_does_not_send(visit: Visit) -> None:
    page = visit(language="zh")
    start_sale(page, "con-laptop-02", "zh")
    before = len(turns(page))
    page.fill("#message", "您好")
    for event in ("{key: 'Enter', isComposing: true, bubbles: true}", "{key: 'Enter', keyCode: 229, bubbles: true}"):
        page.evaluate(f"() => document.querySelector('#message').dispatchEvent(new KeyboardEvent('keydown', {event}))")
    page.wait_for_timeout(300)
    assert page.input_value("#message") == "您好"
    page.press("#message", "Shift+Enter")
    assert page.input_value("#message") == "您好\n"
    assert len(turns(page)) == before


def test_what_was_typed_survives_a_refresh(visit: Visit) -> None:
    page = visit()
    start_sale(page)
    page.locator("#message").press_sequentially("half a sent")
    page.reload()
    page.wait_for_selector("#message")
    assert page.input_value("#message") == "half a sent"


def test_another_way_keeps_both(visit: Visit) -> None:
    page = visit()
    start_sale(page)
    say(page, "Hello, what would you like your savings to do?")
    say(page, "You must sign today or the offer is gone!")
    first = page.url
    page.locator(".turn.salesperson").nth(1).hover()
    page.locator("button.branch").nth(1).click()
    page.wait_for_url(lambda url: url != first)
    page.wait_for_selector(".phase.salesperson")
    assert page.input_value("#message") == "You must sign today or the offer is gone!"
    say(page, "How long could you leave the money untouched?")
    finish(page)
    tree = page.locator("ul.tree li")
    expect(tree).to_have_count(2)
    page.locator("ul.tree a").first.click()
    page.wait_for_url(first)
    page.wait_for_selector(".phase.salesperson, .phase.over")
    assert "You must sign today or the offer is gone!" in turns(page)


def test_with_the_keyboard_alone(visit: Visit) -> None:
    page = visit()
    page.wait_for_selector("#board .card")
    page.focus("#filter-q")
    page.keyboard.type("fixed deposit")
    everything = page.locator("#board .card")
    expect(everything.first).to_contain_text("Fixed Deposit")
    assert everything.count() < 6
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('easy')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#start")
    page.focus("#start")
    page.keyboard.press("Enter")
    page.wait_for_selector("#message")
    page.wait_for_function("document.activeElement.id === 'message'")
    page.keyboard.type("Hello there")
    page.keyboard.press("Enter")
    page.wait_for_selector("ol.turns .turn.customer")
    page.wait_for_selector(".phase.salesperson")
    page.focus("#finish")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "finish-yes"
    page.keyboard.press("Enter")
    expect(page.locator("#scorecard")).to_be_visible()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_a_phone_in_the_dark(visit: Visit, language: str) -> None:
    page = visit("sam", language=language, phone=True, dark=True)
    base, lines = SALES[language]
    start_sale(page, base, language)
    assert page.evaluate("document.body.classList.contains('dark')")
    say(page, lines[0])
    expect(page.locator("#side")).to_be_hidden()
    page.click("button.only-narrow")
    expect(page.locator("#side")).to_be_visible()
    page.click(".close-side")
    expect(page.locator("#side")).to_be_hidden()
    finish(page)
    for path in ("talk", "sessions", ""):
        if path != "talk":
            page.goto(re.sub(r"practice/.*", f"practice/{path}", page.url))
            page.wait_for_selector("#sessions, #board .card")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, f"{path!r} is wider than the screen: {width}"


def test_my_sessions_and_downloads(visit: Visit) -> None:
    page = visit("dora")
    page.wait_for_selector("#board .card")
    page.click(".sf-bar nav a[href$='sessions']")
    page.wait_for_selector(".sf-empty")
    page.click(".sf-empty a")
    start_sale(page)
    say(page, "Hello, what brings you here?")
    finish(page)
    with page.expect_download() as jsonl:
        page.click("a[href$='.jsonl']")
    record = json.loads(jsonl.value.path().read_text(encoding="utf-8"))
    assert [turn["role"] for turn in record["turns"]] == ["salesperson", "customer"]
    assert record["turns"][0]["text"] == "Hello, what brings you here?"
    with page.expect_download() as transcript:
        page.click("a[href$='.html']")
    assert "Hello, what brings you here?" in transcript.value.path().read_text(encoding="utf-8")
    page.click(".sf-bar nav a[href$='sessions']")
    page.wait_for_selector("#sessions tbody tr")
    expect(page.locator("#sessions tbody tr")).to_have_count(1)
    page.click("#sessions tbody a")
    expect(page.locator("#scorecard")).to_be_visible()


def test_the_language_can_be_switched_and_stays(visit: Visit) -> None:
    page = visit("lin")
    page.wait_for_selector("#board .card")
    page.click(".sf-bar a[hreflang^=zh]")
    page.wait_for_url("**/zh/practice/**")
    page.wait_for_selector("#board .card")
    expect(page.locator("h1")).to_have_text("选择一场销售")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    page.goto(page.url.replace("/zh/", "/"))
    page.wait_for_url("**/zh/practice/**")


def test_light_or_dark_can_be_chosen_and_stays(visit: Visit) -> None:
    page = visit("lin")
    page.wait_for_selector("#board .card")
    assert not page.evaluate("document.body.classList.contains('dark')")
    for dark in (True, False):
        page.click(".sf-bar button.icon")
        page.wait_for_function(f"document.body.classList.contains('dark') === {str(dark).lower()}")
        page.wait_for_selector("#board .card")
        page.reload()
        page.wait_for_selector("#board .card")
        assert page.evaluate("document.body.classList.contains('dark')") is dark


def test_a_sale_of_somebody_else_is_not_there(visit: Visit) -> None:
    page = visit("sam")
    start_sale(page)
    say(page, "Hello, this stays between us")
    address = page.url
    stranger = visit("sue")
    stranger.goto(address)
    stranger.wait_for_selector("#board .card")
    assert "between us" not in stranger.content()


def test_a_baseline_sale_tells_no_tier(visit: Visit, product: Product) -> None:
    page = visit("bo")
    product.run("baseline", "create", "spring", "--scenarios", "id:fin-deposit-01.adversarial.en", "--to", "bo")
    received: list[bytes] = []

    def keep(response: object) -> None:
        url = response.url  # type: ignore[attr-defined]
        if "/assets/" not in url and "/static/" not in url:
            try:
                received.append(response.body())  # type: ignore[attr-defined]
            except Exception:  # noqa: BLE001 (redirects and streams that were cut off have no body)
                return

    page.goto(product.url + "/practice/")
    page.wait_for_selector(".assigned a")
    page.on("response", keep)
    page.click(".assigned a")
    page.wait_for_selector("#start")
    page.click("#start")
    page.wait_for_selector(".phase.salesperson", timeout=30_000)
    say(page, "Hello, may I ask what you would like to know?")
    assert page.locator("button.branch").count() == 0
    if page.locator("#finish").is_visible():
        page.click("#finish")
        page.click("#finish-yes")
    page.wait_for_selector("#side .outcome")
    assert page.locator("#scorecard").count() == 0
    assert page.locator("#reveal").count() == 0
    page.reload()
    page.wait_for_selector("#side .outcome")
    everything = b"".join(received)
    assert b"Harbour Bank" in everything
    assert b"adversarial" not in everything
    assert b"fin-deposit-01." not in everything


def test_a_page_stays_usable_across_a_killed_server(visit: Visit, product: Product) -> None:
    page = visit()
    start_sale(page)
    say(page, "Hello, before the crash")
    page.fill("#message", "And this one during it")
    product.kill()
    page.press("#message", "Enter")
    page.wait_for_timeout(1500)
    product.start()
    # The page finds the server again, and sends what was on its way.
    page.locator("ol.turns .turn.customer").nth(1).wait_for(timeout=60_000)
    page.wait_for_selector(".phase.salesperson", timeout=40_000)
    page.reload()
    page.wait_for_selector(".phase.salesperson")
    assert turns(page).count("And this one during it") == 1
    assert turns(page).count("Hello, before the crash") == 1


def test_an_unconfirmed_message_outlives_a_closed_page_and_is_not_doubled(visit: Visit, product: Product) -> None:
    page = visit()
    start_sale(page)
    # The server has it, the page was closed before it heard so.
    page.route("**/gradio_api/queue/data*", lambda route: route.abort())
    page.fill("#message", "Sent and never confirmed")
    page.press("#message", "Enter")
    page.wait_for_timeout(1500)
    page.unroute("**/gradio_api/queue/data*")
    page.reload()
    page.wait_for_selector(".phase.salesperson", timeout=30_000)
    if page.input_value("#message") == "Sent and never confirmed":
        page.press("#message", "Enter")
        page.locator("ol.turns .turn.customer").first.wait_for()
    page.wait_for_selector(".phase.salesperson", timeout=30_000)
    assert turns(page).count("Sent and never confirmed") == 1


def test_a_reply_cut_off_by_a_kill_is_offered_again(visit: Visit, product: Product) -> None:
    page = visit()
    start_sale(page)
    say(page, "Hello, how do you save today?", wait=False)
    page.wait_for_selector(".phase.answering")
    product.kill()
    product.start()
    page.reload()
    page.wait_for_selector("#retry")
    page.click("#retry")
    page.wait_for_selector(".phase.salesperson", timeout=30_000)
    assert len(turns(page)) == 2
