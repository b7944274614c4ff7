"""Signing in, out, by link; passwords; language. Over HTTP against the real server."""

from __future__ import annotations

import re
import threading
from datetime import timedelta
from urllib.parse import urlsplit

import httpx
import pytest
from itsdangerous import Signer

from core.accounts import Role
from core.errors import NotFound, StoreError
from core.scenarios import Language
from data.accounts import AccountRepository
from tests.support.running_server import RunningServer
from ui.identity import SESSION_COOKIE

PAGE = {"accept": "text/html"}
GOOD = "five unrelated words"


@pytest.fixture(autouse=True)
def _fresh_throttles(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Failures of one test don't slow down the next: each comes from an address of its own."""
    name = request.node.name
    monkeypatch.setattr("ui.signin._address", lambda _: name)


def enter(client: httpx.Client, name: str, password: str, **more: str) -> httpx.Response:
    return client.post("/sign-in", data={"name": name, "password": password, **more})


def test_sign_in_and_out(server: RunningServer) -> None:
    server.account("Ada", Role.SALESPERSON, password=GOOD)
    client = server.client()
    assert client.get("/").headers["location"] == "/sign-in"
    response = enter(client, " aDa ", GOOD)
    assert (response.status_code, response.headers["location"]) == (303, "/practice/")
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie
    assert client.get("/practice/", headers=PAGE).status_code == 200
    assert client.get("/sign-in").headers["location"] == "/practice/"

    kept = client.cookies[SESSION_COOKIE]
    assert client.post("/sign-out").headers["location"] == "/sign-in"
    assert SESSION_COOKIE not in client.cookies
    again = server.client()
    again.cookies.set(SESSION_COOKIE, kept, domain="127.0.0.1")
    assert again.get("/practice/", headers=PAGE).status_code == 303, "a session ends at sign-out, not with its cookie"


def test_signing_in_anew_ends_the_earlier_session_of_the_browser(server: RunningServer) -> None:
    server.account("Twice", Role.SALESPERSON, password=GOOD)
    client = server.client()
    enter(client, "Twice", GOOD)
    first = client.cookies[SESSION_COOKIE]
    client.cookies.delete(SESSION_COOKIE)
    client.cookies.set(SESSION_COOKIE, first, domain="127.0.0.1", path="/")
    client.post("/sign-in", data={"name": "Twice", "password": GOOD})
    old = server.client()
    old.cookies.set(SESSION_COOKIE, first, domain="127.0.0.1")
    assert old.get("/practice/", headers=PAGE).status_code == 303


def test_wrong_name_and_wrong_password_look_the_same(server: RunningServer) -> None:
    server.account("Real", Role.SALESPERSON, password=GOOD)
    server.account("Linked only", Role.SALESPERSON)
    disabled = server.account("Gone", Role.SALESPERSON, password=GOOD)
    with server.store.session() as session:
        AccountRepository(session).disable(disabled.id)
    pages = []
    for name, password in (("Real", "wrong wrong"), ("Nobody", GOOD), ("Linked only", GOOD), ("Gone", GOOD), ("Real", "")):
        response = enter(server.client(), name, password)
        assert response.status_code == 401
        assert SESSION_COOKIE not in response.cookies
        pages.append(response.text.replace(name, "NAME"))
    assert len(set(pages)) == 1


def test_what_was_typed_is_shown_as_text(server: RunningServer) -> None:
    name = '"><script>alert(1)</script>'
    page = enter(server.client(), name, "x").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_guessing_is_slowed_down_by_name(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.account("Target", Role.SALESPERSON, password=GOOD)
    addresses = iter(f"address {n}" for n in range(100))
    monkeypatch.setattr("ui.signin._address", lambda _: next(addresses))
    client = server.client()
    codes = [enter(client, name, "wrong").status_code for name in ["Target", "TARGET", " target ", "Target"] * 2]
    assert codes == [401] * 8
    refused = enter(client, "Target", GOOD)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    assert "15 min" in refused.text
    assert enter(client, "Other", GOOD).status_code == 401, "other names are open"


def test_guessing_is_slowed_down_by_address(server: RunningServer) -> None:
    client = server.client()
    codes = [enter(client, f"name {n}", "wrong").status_code for n in range(31)]
    assert codes == [401] * 30 + [429]


def test_many_guesses_at_once_count_as_many(server: RunningServer) -> None:
    server.account("Crowded", Role.SALESPERSON, password=GOOD)
    codes: list[int] = []

    def guess() -> None:
        with httpx.Client(base_url=server.url, headers={"origin": server.url}, timeout=30) as client:
            codes.append(enter(client, "Crowded", "wrong").status_code)

    threads = [threading.Thread(target=guess) for _ in range(14)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [401] * 8 + [429] * 6


def test_success_is_no_failure(server: RunningServer) -> None:
    server.account("Frequent", Role.SALESPERSON, password=GOOD)
    codes = [enter(server.client(), "Frequent", GOOD).status_code for _ in range(10)]
    assert codes == [303] * 10


# -- cookies -------------------------------------------------------------------------------------------------------------


def test_a_changed_cookie_is_worth_nothing(server: RunningServer) -> None:
    account = server.account("Cookie", Role.SALESPERSON)
    good = server.session_cookie(account)
    token = good.rsplit(".", 1)[0]
    forged = [
        token, token + ".", good[:-1] + ("A" if good[-1] != "A" else "B"), "x" + good, good + "x", "", "." * 50, "é" * 10,
        Signer(b"k" * 32, salt="session").sign(token).decode(), Signer(server.secret, salt="link").sign(token).decode(),
        Signer(server.secret, salt="session").sign("no such session").decode(), "x" * 5000,
    ]  # fmt: skip
    for value in forged:
        headers = {b"cookie": f"{SESSION_COOKIE}={value}".encode("latin-1"), b"accept": b"text/html"}
        assert server.client().get("/practice/", headers=headers).status_code == 303, value
    assert server.client(account).get("/practice/", headers=PAGE).status_code == 200


def test_the_store_does_not_hold_what_the_cookie_says(server: RunningServer) -> None:
    token = server.session_cookie(server.account("Hashed", Role.SALESPERSON)).rsplit(".", 1)[0]
    assert server.store.path is not None
    files = [server.store.path, *server.store.path.parent.glob(server.store.path.name + "-*")]
    assert all(token.encode() not in file.read_bytes() for file in files)


# -- one-time links -------------------------------------------------------------------------------------------------------


def test_a_link_signs_in_once_and_offers_a_password(server: RunningServer) -> None:
    account = server.account("Newcomer", Role.SALESPERSON)
    path = urlsplit(server.link(account)).path
    preview = server.client()
    for _ in range(3):
        page = preview.get(path, headers=PAGE)
        assert page.status_code == 200
        assert SESSION_COOKIE not in page.cookies
        assert "Newcomer" not in page.text
    client = server.client()
    used = client.post(path)
    assert (used.status_code, used.headers["location"]) == (303, "/set-password")
    form = client.get("/set-password", headers=PAGE).text
    assert 'name="current"' not in form
    assert "Newcomer" in form
    assert client.get("/practice/", headers=PAGE).status_code == 200
    second = server.client().post(path)
    assert second.status_code == 410
    assert SESSION_COOKIE not in second.cookies

    saved = client.post("/set-password", data={"password": GOOD})
    assert saved.status_code == 200
    assert client.get("/practice/", headers=PAGE).status_code == 200, "this browser goes on"
    assert enter(server.client(), "Newcomer", GOOD).status_code == 303


def test_a_link_that_is_late_or_wrong_or_of_the_disabled_is_dead(server: RunningServer) -> None:
    account = server.account("Late", Role.SALESPERSON)
    gone = server.account("Left", Role.SALESPERSON)
    of_gone = urlsplit(server.link(gone)).path
    with server.store.session() as session:
        late = AccountRepository(session).issue_link("Late", ttl=timedelta(seconds=-1))
        AccountRepository(session).disable(gone.id)
    for path in (f"/link/{late}", "/link/nonsense", "/link/" + "x" * 4000, of_gone):
        response = server.client().post(path)
        assert response.status_code == 410
        assert "does not work" in response.text
    assert server.client().post(urlsplit(server.link(account)).path).status_code == 303


def test_two_at_once_get_one_session_of_a_link(server: RunningServer) -> None:
    path = urlsplit(server.link(server.account("Raced", Role.SALESPERSON))).path
    codes: list[int] = []

    def use() -> None:
        with httpx.Client(base_url=server.url, headers={"origin": server.url}, timeout=30) as client:
            codes.append(client.post(path).status_code)

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [303] + [410] * 5


# -- passwords --------------------------------------------------------------------------------------------------------------


def test_a_new_password_needs_the_current_one(server: RunningServer) -> None:
    account = server.account("Careful", Role.SALESPERSON, password=GOOD)
    client, other = server.client(account), server.client(account)
    assert 'name="current"' in client.get("/set-password", headers=PAGE).text
    wrong = client.post("/set-password", data={"current": "not it at all", "password": "another good one"})
    assert wrong.status_code == 401
    assert enter(server.client(), "Careful", GOOD).status_code == 303
    assert client.post("/set-password", data={"current": GOOD, "password": "another good one"}).status_code == 200
    assert client.get("/practice/", headers=PAGE).status_code == 200
    assert other.get("/practice/", headers=PAGE).status_code == 303, "all other browsers are signed out"
    assert enter(server.client(), "Careful", GOOD).status_code == 401
    assert enter(server.client(), "Careful", "another good one").status_code == 303


def test_a_link_of_one_account_opens_no_other_accounts_password(server: RunningServer) -> None:
    mine, other = server.account("Mine", Role.SALESPERSON), server.account("Other one", Role.SALESPERSON, password=GOOD)
    client = server.client()
    client.post(urlsplit(server.link(mine)).path)
    client.cookies.set(SESSION_COOKIE, server.session_cookie(other), domain="127.0.0.1", path="/")
    client.cookies.delete(SESSION_COOKIE, domain="127.0.0.1", path="/")
    client.cookies.set(SESSION_COOKIE, server.session_cookie(other), domain="127.0.0.1", path="/")
    assert client.post("/set-password", data={"password": "taken over now"}).status_code == 401
    assert enter(server.client(), "Other one", GOOD).status_code == 303


@pytest.mark.parametrize("password", ["", "short", "x" * 1025, "weak name", "WEAK NAME"])
def test_weak_passwords_are_refused_in_words(server: RunningServer, password: str, request: pytest.FixtureRequest) -> None:
    with server.store.session() as session:
        try:
            account = AccountRepository(session).by_name("Weak name")
        except NotFound:
            account = AccountRepository(session).add("Weak name", [Role.SALESPERSON])
    response = server.client(account).post("/set-password", data={"password": password})
    assert response.status_code == 422
    assert "Nothing was changed" in response.text


def test_strangers_set_no_password(server: RunningServer) -> None:
    for response in (server.client().get("/set-password"), server.client().post("/set-password", data={"password": GOOD})):
        assert response.headers["location"] == "/sign-in?next=%2Fset-password"


# -- where one is led -------------------------------------------------------------------------------------------------------


ELSEWHERE = [
    "//evil.example", "///evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)",
    "/\t/evil.example", "/\n/evil.example", "/%0d%0aset-cookie:a=b\r\nx: y", "evil.example", "", " /practice/", "/ /evil.example",
    "/zh//evil.example/../practice/", "/" + "x" * 3000, "http:/evil.example", "/\u2028/evil.example",
]  # fmt: skip


@pytest.mark.parametrize("address", ELSEWHERE)
def test_signing_in_leads_nowhere_else(server: RunningServer, address: str, request: pytest.FixtureRequest) -> None:
    name = f"R {request.node.name}"[:60]
    server.account(name, Role.SALESPERSON, password=GOOD)
    client = server.client()
    response = client.post("/sign-in", data={"name": name, "password": GOOD, "next": address})
    assert response.status_code == 303
    assert_here(response.headers["location"])
    page = server.client().get("/sign-in", params={"next": address}, headers=PAGE).text
    hidden = re.search(r'name="next" value="([^"]*)"', page)
    assert hidden is not None
    assert_here(hidden.group(1))


@pytest.mark.parametrize("address", [*ELSEWHERE, "/zh//evil.example", "/zh/\\evil.example", "/zh/practice//evil.example"])
@pytest.mark.parametrize("code", ["en", "zh"])
def test_choosing_a_language_leads_nowhere_else(server: RunningServer, address: str, code: str) -> None:
    response = server.client().get(f"/language/{code}", params={"next": address})
    assert response.status_code == 303
    assert_here(response.headers["location"])


def assert_here(location: str) -> None:
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))
    assert "\\" not in location
    assert urlsplit(location).netloc == ""


def test_signing_in_leads_to_the_page_that_was_asked_for(server: RunningServer) -> None:
    server.account("Deep", Role.SALESPERSON, password=GOOD)
    response = server.client().post("/sign-in", data={"name": "Deep", "password": GOOD, "next": "/practice/talk?d=d-1&x=2"})
    assert response.headers["location"] == "/practice/talk?d=d-1&x=2"


def test_an_admin_without_sales_lands_where_they_may(server: RunningServer) -> None:
    admin = server.account("Chief", Role.ADMIN)
    assert server.client(admin).get("/").headers["location"] == "/practice/"
    assert server.client(admin, language="zh").get("/").headers["location"] == "/zh/practice/"


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.RESEARCHER])
def test_roles_without_a_room_are_told_so(server: RunningServer, role: Role) -> None:
    page = server.client(server.account(f"Early {role}", role)).get("/", headers=PAGE)
    assert page.status_code == 200
    assert "Nothing to open yet" in page.text
    assert "nothing was lost" in page.text


# -- language ------------------------------------------------------------------------------------------------------------


def test_the_choice_of_language_is_kept_and_comes_back(server: RunningServer) -> None:
    account = server.account("Bilingual", Role.SALESPERSON)
    client = server.client(account)
    response = client.get("/language/zh", headers={"referer": f"{server.url}/practice/sessions?offset=50"})
    assert response.headers["location"] == "/zh/practice/sessions?offset=50"
    assert "登录" not in client.get("/practice/", headers=PAGE).text
    assert client.get("/practice/", headers=PAGE).headers["location"] == "/zh/practice/"
    assert client.get("/set-password", headers=PAGE).text.count('lang="zh-CN"') >= 1
    with server.store.reading() as session:
        assert AccountRepository(session).get(account.id).language is Language.ZH
    fresh = server.client(account, language="en")
    assert fresh.get("/").headers["location"] == "/zh/practice/", "the account remembers, on another machine too"
    back = client.get("/language/en", headers={"referer": f"{server.url}/zh/practice/talk?d=1"})
    assert back.headers["location"] == "/practice/talk?d=1"


def test_another_sites_link_does_not_change_the_account(server: RunningServer) -> None:
    account = server.account("Steady", Role.SALESPERSON)
    server.client(account).get("/language/zh", headers={"sec-fetch-site": "cross-site", "referer": "https://evil.example/x"})
    with server.store.reading() as session:
        assert AccountRepository(session).get(account.id).language is None


def test_only_our_own_referrer_is_followed(server: RunningServer) -> None:
    response = server.client().get("/language/zh", headers={"referer": "http://evil.example/practice/"})
    assert response.headers["location"] == "/"


def test_an_unknown_language_is_not_found(server: RunningServer) -> None:
    assert server.client().get("/language/xx", headers=PAGE).status_code == 404


@pytest.mark.parametrize(
    ("accepted", "words"), [("zh-TW,en;q=0.8", "登录"), ("fr,zh;q=0.3", "登录"), ("fr", "Sign in"), ("en-GB", "Sign in")]
)
def test_strangers_get_their_browsers_language(server: RunningServer, accepted: str, words: str) -> None:
    assert f"<h1>{words}</h1>" in server.client(language=accepted).get("/sign-in", headers=PAGE).text


# -- errors ------------------------------------------------------------------------------------------------------------------


def test_an_error_page_says_what_is_safe(server: RunningServer) -> None:
    client = server.client(server.account("Lost", Role.SALESPERSON))
    page = client.get("/nowhere", headers=PAGE)
    assert page.status_code == 404
    assert "Your dialogues are all where they were" in page.text
    assert 'href="/practice/"' in page.text
    assert client.get("/nowhere").json() == {"detail": "There is nothing at this address."}


def test_a_fault_is_told_without_its_details(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise ValueError("secret-detail")

    monkeypatch.setattr("ui.signin.first_room", broken)
    account = server.account("Unlucky", Role.SALESPERSON)
    page = server.client(account).get("/", headers=PAGE)
    assert page.status_code == 500
    assert "What was saved stays saved" in page.text
    assert "secret-detail" not in page.text


def test_a_store_in_trouble_is_told_as_such(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    account = server.account("Waiting", Role.SALESPERSON)
    client = server.client(account)

    def down(*_: object, **__: object) -> None:
        raise StoreError("disk full at /secret/place")

    monkeypatch.setattr("ui.identity.Identity._resolve", down)
    page = client.get("/practice/", headers=PAGE)
    assert page.status_code == 503
    assert "Nothing that was saved is lost" in page.text
    assert "/secret/place" not in page.text


def test_small_files(server: RunningServer) -> None:
    client = server.client()
    manifest = client.get("/manifest.json")
    assert manifest.json()["name"] == "Salesfloor"
    for path in (
        "/favicon.ico",
        manifest.json()["icons"][0]["src"],
        "/static/salesfloor.css",
        "/static/shell.css",
        "/static/shell.js",
    ):
        assert client.get(path).status_code == 200
    for path in ("/static/", "/static/../server.py", "/static/..%2fserver.py", "/docs", "/openapi.json", "/redoc"):
        assert client.get(path).status_code == 404
