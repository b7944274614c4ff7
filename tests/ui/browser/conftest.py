"""A real Chromium before the real product. A page that asks any other host for anything fails its test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from core.accounts import Role
from tests.support.product import Product

playwright = pytest.importorskip("playwright.sync_api")
Browser, BrowserContext, Page = playwright.Browser, playwright.BrowserContext, playwright.Page

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


# Playwright keeps an event loop running in this thread, beside which no asynchronous test can run: it ends with the module.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = os.environ.get("SALESFLOOR_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no Chromium on this machine; install Debian's package chromium to run the browser tests")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    running = Product(tmp_path_factory.mktemp("product"), typing_speed="60")
    running.start()
    yield running
    running.stop()
    faults = [line for line in running.output if "Traceback" in line or " ERROR " in line]
    assert not faults, "\n".join(running.output)


@pytest.fixture
def visit(chromium: Browser, product: Product) -> Iterator[Callable[..., Page]]:
    """``visit("sam", language="zh", phone=True)``: a page of a fresh browser in which that salesperson is signed in."""
    contexts: list[BrowserContext] = []
    strangers: list[str] = []
    faults: list[str] = []

    def open_page(
        name: str = "sam",
        *,
        language: str = "en",
        phone: bool = False,
        dark: bool = False,
        roles: tuple[Role, ...] = (Role.SALESPERSON,),
    ) -> Page:
        context = chromium.new_context(
            viewport={"width": 390, "height": 844} if phone else {"width": 1360, "height": 860},
            locale={"en": "en-GB", "zh": "zh-CN"}[language],
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.on("request", lambda request: _note_stranger(request.url))
        context.on("weberror", lambda error: faults.append(str(error.error)))
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.goto(product.link_for(name, *roles))
        page.click("form[method=post] button.primary")
        page.wait_for_load_state()
        page.goto(product.url + "/practice/")
        return page

    def _note_stranger(url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and not url.startswith(product.url):
            strangers.append(url)

    yield open_page
    for context in contexts:
        context.close()
    assert not strangers, f"the pages asked other hosts: {strangers}"
    assert not faults, f"errors in the pages: {faults}"
