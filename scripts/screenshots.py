"""Draw pictures of the real product: ``make screenshots``, or ``python scripts/screenshots.py FOLDER`` for all of them.

Starts the product over an empty store, sells once in each language, and keeps what a browser shows. Without a folder only the
pictures that README shows are kept, in ``docs/``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from core.accounts import Role
from tests.support.product import ROOT, Product
from tests.ui.browser.conftest import FLAGS
from tests.ui.browser.selling import SALES, finish, open_sale, say

IN_README = {"en-light-scorecard": "scorecard.png", "en-light-talk": "talk.png", "zh-dark-phone-talk": "phone.png"}


def main(folder: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium found; install Debian's package chromium")
    with tempfile.TemporaryDirectory() as data, sync_playwright() as driver:
        product = Product(Path(data), typing_speed="40")
        product.start()
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        try:
            for language in ("en", "zh"):
                for dark, phone in ((False, False), (True, True), (True, False), (False, True)):
                    draw(browser, product, folder, language, dark=dark, phone=phone)
        finally:
            browser.close()
            product.stop()


def draw(browser: Browser, product: Product, folder: Path, language: str, *, dark: bool, phone: bool) -> None:
    """One journey through all pages, with a picture of each."""
    name = f"{language}-{'dark' if dark else 'light'}{'-phone' if phone else ''}"
    context = browser.new_context(
        viewport={"width": 390, "height": 844} if phone else {"width": 1360, "height": 860},
        locale={"en": "en-GB", "zh": "zh-CN"}[language],
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()

    def keep(what: str, *, whole: bool = False) -> None:
        page.wait_for_timeout(400)
        page.screenshot(path=str(folder / f"{name}-{what}.png"), full_page=whole)

    page.goto(f"{product.url}/sign-in")
    keep("sign-in")
    page.goto(product.link_for("mei", Role.SALESPERSON, Role.ADMIN))
    page.click("form[method=post] button.primary")
    page.wait_for_load_state()
    page.goto(f"{product.url}/practice/")
    page.wait_for_selector("#board .card")
    keep("board")
    sell(page, language, keep)
    page.goto(f"{product.url}/practice/sessions")
    page.wait_for_selector("#sessions")
    keep("sessions")
    page.goto(f"{product.url}/admin/")
    page.wait_for_selector("#accounts, table")
    keep("accounts", whole=True)
    context.close()


def sell(page: Page, language: str, keep: object) -> None:
    assert callable(keep)
    base, lines = SALES[language]
    open_sale(page, base, language, "easy")
    keep("brief")
    page.click("#start")
    page.wait_for_selector(".phase.salesperson", timeout=30_000)
    for number, line in enumerate(lines):
        if not page.locator("#message").is_visible():
            break
        say(page, line)
        if number == 3:
            keep("talk")
    finish(page)
    keep("scorecard")
    page.click("#reveal summary")
    keep("scorecard-whole", whole=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        target = Path(sys.argv[1])
        target.mkdir(parents=True, exist_ok=True)
        main(target)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
            for drawn, kept in IN_README.items():
                shutil.copyfile(Path(scratch) / f"{drawn}.png", ROOT / "docs" / kept)
