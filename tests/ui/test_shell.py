"""The parts of the shell, each for itself: bar, rooms, throttle, sessions, texts, messages, single-user mode, start."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import errors
from core.accounts import Account, Audience, Role
from core.dialogues import Failure
from core.errors import InvalidInput, ModelError, Problem, SalesfloorError, StoreError
from core.scenarios import Language
from core.settings import Settings
from tests.support.running_server import RunningServer, make_services, start
from ui.gate_routes import BadMessage, Mount, Route, SessionOwners, checked_message, mount_of, route_of
from ui.headers import is_loopback
from ui.identity import Identity, load_secret
from ui.messages import failure_text, message_of
from ui.rooms import TABS, localised, safe_next
from ui.server import build_app, run
from ui.texts import Texts, texts
from ui.throttle import Throttle
from ui.topbar import bar

PAGE = {"accept": "text/html"}
SECTIONS = ("shell", "signin", "admin", "errors")
UI = Path(__file__).parents[2] / "ui"


def account(*roles: Role, name: str = "Mei") -> Account:
    return Account(id=1, name=name, roles=frozenset(roles), created_at=datetime(2026, 1, 1, tzinfo=UTC))


# -- the bar ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "tabs"),
    [
        ({Role.SALESPERSON}, ["Practice", "My sessions"]),
        ({Role.ADMIN}, ["Practice", "My sessions", "Accounts", "Human baselines"]),
        ({Role.ANNOTATOR}, []),
        ({Role.RESEARCHER}, []),
    ],
)
def test_each_role_sees_its_own_rooms(roles: set[Role], tabs: list[str]) -> None:
    html = bar(account(*roles), "practice", texts(Language.EN))
    nav = html.partition("<nav")[2].partition("</nav>")[0]
    assert re.findall(r">([^<>]+)</a>", nav) == tabs
    assert nav.count('aria-current="page"') == (1 if tabs else 0)


def test_a_name_is_text() -> None:
    html = bar(account(Role.ADMIN, name='<img src=x onerror="alert(1)">'), "", texts(Language.EN))
    assert "<img" not in html
    assert "&lt;img" in html


def test_a_stranger_sees_no_tab_and_no_way_out() -> None:
    html = bar(None, "", texts(Language.ZH))
    assert "<nav" not in html
    assert "/sign-out" not in html
    assert 'href="/language/en"' in html


def test_every_link_stays_in_the_language() -> None:
    html = bar(account(Role.ADMIN), "", texts(Language.ZH))
    assert all(
        href.startswith("/zh/") for href in re.findall(r'href="([^"]+)"', html.partition("<nav")[2].partition("</nav>")[0])
    )


# -- addresses -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "en", "zh"),
    [
        ("/practice/talk?d=1", "/practice/talk?d=1", "/zh/practice/talk?d=1"),
        ("/zh/admin/", "/admin/", "/zh/admin/"),
        ("/sign-in?next=/practice/", "/sign-in?next=/practice/", "/sign-in?next=/practice/"),
        ("/practices/", "/practices/", "/practices/"),
        ("/", "/", "/"),
    ],
)
def test_the_same_page_in_another_language(path: str, en: str, zh: str) -> None:
    assert localised(path, Language.EN) == en
    assert localised(path, Language.ZH) == zh


@given(st.text(max_size=40) | st.text("/\\zh.:@?#%\t\n practice", max_size=20))
def test_the_next_page_is_always_ours(address: str) -> None:
    for language in Language:
        led = safe_next(localised(safe_next(address), language))
        assert led.startswith("/")
        assert not led.startswith("//")
        assert "\\" not in led
        assert led.isprintable()


# -- slowing down ----------------------------------------------------------------------------------------------------------


def test_a_throttle_opens_again_and_stays_bounded() -> None:
    now = [0.0]
    throttle = Throttle(failures=3, window_s=600, max_keys=10, clock=lambda: now[0])
    for _ in range(3):
        assert throttle.minutes_left("mei") == 0
        throttle.note("mei")
        now[0] += 60
    assert throttle.minutes_left("mei") == 7
    now[0] = 599.0
    assert throttle.minutes_left("mei") == 1
    now[0] = 601.0
    assert throttle.minutes_left("mei") == 0
    throttle.note("mei")
    throttle.forgive("mei")
    throttle.forgive("nobody")
    for n in range(100):
        throttle.note(f"name {n}")
    assert len(throttle._times) == 10


# -- browser sessions --------------------------------------------------------------------------------------------------------


def test_a_session_belongs_to_its_first_account_and_nobody_pushes_it_out() -> None:
    owners = SessionOwners(per_account=3)
    assert owners.claim("mine", 1)
    for n in range(50):
        assert owners.claim(f"flood{n}", 2)
    assert not owners.claim("mine", 2)
    assert owners.claim("mine", 1)
    assert len(owners._owner) == 4


# -- routes ------------------------------------------------------------------------------------------------------------------


MOUNT = Mount("/practice", Audience.PRACTICE, Language.EN, frozenset({"talk"}))
ZH = Mount("/zh/practice", Audience.PRACTICE, Language.ZH, frozenset({"talk"}))


def test_the_longest_mount_wins() -> None:
    root = Mount("/zh", Audience.ADMIN, Language.ZH, frozenset())
    assert mount_of("/zh/practice/talk", (root, ZH, MOUNT)) is ZH
    assert mount_of("/zh/other", (root, ZH, MOUNT)) is root
    assert mount_of("/practices", (MOUNT,)) is None


@given(st.text(max_size=30).map("/gradio_api/".__add__) | st.text(max_size=30))
def test_what_is_not_named_is_closed(rest: str) -> None:
    known = {"", "/", "/talk", "/gradio_api/startup-events", "/gradio_api/queue/data", "/theme.css", "/gradio_api/theme.css"}
    if (
        rest in known
        or rest.strip("/") in ("", "talk")
        or rest.startswith(("/assets/", "/static/", "/svelte/", "/gradio_api/heartbeat/"))
    ):
        return
    assert route_of(MOUNT, "GET", rest) is Route.CLOSED
    if rest.rstrip("/") not in ("/gradio_api/queue/join", "/gradio_api/cancel", "/gradio_api/reset"):
        assert route_of(MOUNT, "POST", rest) is Route.CLOSED


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


messages = st.dictionaries(st.sampled_from(["data", "fn_index", "session_hash", "trigger_id", "x"]), json_values)


@given(st.binary(max_size=80) | messages.map(lambda message: json.dumps(message).encode()))
def test_no_message_breaks_the_gate(body: bytes) -> None:
    for rest in ("/gradio_api/queue/join", "/gradio_api/cancel", "/gradio_api/reset/"):
        try:
            session, message = checked_message(rest, body)
        except BadMessage:
            continue
        assert session is None or re.fullmatch(r"[A-Za-z0-9]{1,64}", session)
        assert b'"x"' not in message or b'"data"' in message


# -- who is at this machine ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST", "::1", "[::1]", "::ffff:127.0.0.1"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.168.0.2", "localhost.evil", "127.0.0.1.evil", "::ffff:10.0.0.1"])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    yield from start(make_services(tmp_path_factory.mktemp("alone"), single_user=True))


def test_single_user_mode_lets_this_machine_in_and_says_so(alone: RunningServer) -> None:
    assert alone.client().get("/practice/", headers=PAGE).status_code == 303, "there is no admin yet"
    alone.account("First", Role.ADMIN)
    alone.account("Second", Role.ADMIN)
    client = alone.client()
    assert client.get("/").headers["location"] == "/practice/"
    page = client.get("/set-password", headers=PAGE).text
    assert "Single-user mode" in page
    assert "First" in page
    assert "/sign-out" not in page


@pytest.mark.parametrize("name", ["x-forwarded-for", "forwarded", "via", "x-real-ip"])
def test_single_user_mode_lets_nobody_in_through_a_proxy(alone: RunningServer, name: str) -> None:
    assert alone.client().get("/practice/", headers={name: "10.0.0.1", **PAGE}).status_code == 303


@pytest.mark.parametrize(
    "settings", [{"host": "0.0.0.0"}, {"host": "192.168.0.2"}, {"trust_proxy": True}, {"single_user": False}]
)
async def test_single_user_mode_is_for_the_loopback_address_only(tmp_path: Path, settings: dict[str, Any]) -> None:
    services = make_services(tmp_path)
    RunningServer("", services, b"").account("Root", Role.ADMIN)
    identity = Identity(services.store, Settings(data_dir=tmp_path, **{"single_user": True, **settings}), secret=b"k" * 32)
    scope = {"type": "http", "headers": [], "client": ("127.0.0.1", 1)}
    assert (await identity.visitor(scope)).account is None
    services.store.close()


async def test_single_user_mode_is_for_clients_of_this_machine_only(tmp_path: Path) -> None:
    services = make_services(tmp_path)
    RunningServer("", services, b"").account("Root", Role.ADMIN)
    identity = Identity(services.store, Settings(data_dir=tmp_path, single_user=True), secret=b"k" * 32)
    for client, name in ((("127.0.0.1", 1), "Root"), (("10.0.0.9", 1), None), (None, None)):
        visitor = await identity.visitor({"type": "http", "headers": [], "client": client})
        assert (visitor.account.name if visitor.account else None) == name
    services.store.close()


def test_the_signing_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    key = load_secret(folder)
    assert load_secret(folder) == key
    assert len(key) == 32
    assert stat.S_IMODE((folder / "secret.key").stat().st_mode) == 0o600
    assert [item.name for item in folder.iterdir()] == ["secret.key"]
    (folder / "secret.key").write_bytes(b"short")
    with pytest.raises(StoreError, match="cut short"):
        load_secret(folder)


# -- starting -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["GRADIO_VIBE_MODE", "GRADIO_MCP_SERVER", "GRADIO_SHARE", "GRADIO_LOCAL_DEV_MODE"])
def test_it_does_not_start_with_gradio_opened_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    services = make_services(tmp_path)
    monkeypatch.setenv(name, "1")
    with pytest.raises(InvalidInput, match=name):
        build_app(services)
    services.store.close()


def test_a_port_in_use_is_said_in_words(server: RunningServer) -> None:
    port = int(server.url.rsplit(":", 1)[1])
    services = server.services
    taken = type(services)(
        settings=Settings(data_dir=services.settings.data_dir, port=port),
        store=services.store,
        engine=services.engine,
        practice=services.practice,
    )
    with pytest.raises(InvalidInput, match=f"127.0.0.1:{port}.*--port"):
        run(taken)


def test_a_trusted_proxy_names_scheme_and_client(tmp_path: Path) -> None:
    for running in start(make_services(tmp_path, trust_proxy=True)):
        running.account("Proxied", Role.SALESPERSON, password="five unrelated words")
        headers = {
            "host": "sales.example",
            "origin": "https://sales.example",
            "x-forwarded-proto": "https",
            "x-forwarded-for": "9.9.9.9",
        }
        response = httpx.post(
            f"{running.url}/sign-in", data={"name": "Proxied", "password": "five unrelated words"}, headers=headers
        )
        assert response.status_code == 303
        assert "Secure" in response.headers["set-cookie"]


# -- texts and messages ---------------------------------------------------------------------------------------------------------


def own_keys(t: Texts) -> set[str]:
    return {key for key in t.keys() if key.split(".")[0] in SECTIONS}  # noqa: SIM118 (Texts is no mapping)


def test_both_languages_say_the_same_things() -> None:
    en, zh = texts(Language.EN), texts(Language.ZH)
    assert own_keys(en) == own_keys(zh)
    for key in own_keys(en):
        assert en.slots(key) == zh.slots(key), key
        assert zh(key).strip(), key


def test_chinese_texts_are_chinese() -> None:
    zh = texts(Language.ZH)
    assert [key for key in own_keys(zh) if not re.search(r"[\u4e00-\u9fff]", zh(key))] == []


def test_no_text_is_unused() -> None:
    sources = [path.read_text(encoding="utf-8") for pattern in ("*.py", "*.html") for path in UI.rglob(pattern)]
    everything = "\n".join(sources)
    made_up = {f"shell.role_{role.value}" for role in Role} | {f"shell.tab_{tab.key}" for tab in TABS}
    named = set(re.findall(r"""["']([a-z_]+\.[a-z0-9_]+)["']""", everything))
    assert own_keys(texts(Language.EN)) - named - made_up == set()


ERRORS: list[SalesfloorError] = [
    SalesfloorError("x"), InvalidInput(Problem("name", "it is empty")), errors.NotFound("dialogue", "d"), errors.Forbidden("x"),
    errors.Refused("x"), errors.StillAnswering(), errors.Unanswered(), errors.DialogueOver(), errors.NothingToAnswer(),
    ModelError("m", "secret"), errors.ModelUnavailable("m", "secret"), errors.ModelBusy("m", "secret"),
    errors.ModelRejected("m", "secret"), errors.ContextOverflow("m", "secret"), errors.ModelMisbehaved("m", "secret"),
    StoreError("secret"), errors.TurnConflict("secret"),
]  # fmt: skip


def test_every_class_of_error_has_a_message_of_its_own() -> None:
    tree = {SalesfloorError}
    while more := {sub for kind in tree for sub in kind.__subclasses__() if sub.__module__ == "core.errors"} - tree:
        tree |= more
    assert {type(error) for error in ERRORS} == tree
    for language in Language:
        said = [message_of(error, texts(language)) for error in ERRORS]
        assert len(set(said)) == len(said)
        assert not [text for text in said if "secret" in text]


def test_a_fault_that_is_none_of_ours_tells_nothing() -> None:
    assert message_of(ValueError("secret"), texts(Language.EN)) == texts(Language.EN)("errors.unexpected")


@pytest.mark.parametrize(
    ("kind", "retryable", "says"),
    [
        ("ModelUnavailable", True, "can't be reached"), ("ModelRejected", False, "will not help"),
        ("ContextOverflow", False, "grown too long"), ("ValueError", True, "failed"), ("StoreError", True, "failed"),
        ("__builtins__", True, "failed"),
    ],
)  # fmt: skip
def test_recorded_failures_are_told_by_kind(kind: str, retryable: bool, says: str) -> None:
    failure = Failure(kind=kind, model="lm", detail="secret", retryable=retryable)
    text = failure_text(failure, texts(Language.EN))
    assert says in text
    assert "lm" in text
    assert "secret" not in text
